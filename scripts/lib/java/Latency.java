import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.LocalResource;
import org.apache.hadoop.yarn.api.records.LocalResourceType;
import org.apache.hadoop.yarn.api.records.LocalResourceVisibility;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.URL;
import org.apache.hadoop.yarn.api.records.YarnApplicationAttemptState;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;

/**
 * The client side of scripts/latency, written with the stock client classes.
 *
 * <p>Arguments: the number of runs and a directory to work in. Prints one line for each measurement:
 * {@code submit MICROS} (submit call begun to first command of the AM), {@code allocate MICROS} (allocate
 * call begun to the answer that holds the container), and {@code application ID} of the asking application.
 */
public final class Latency {
  private static final int WARM_UP_RUNS = 3;
  private static final long DEADLINE_MS = 60_000;
  private static final EnumSet<YarnApplicationState> ENDED =
      EnumSet.of(YarnApplicationState.FINISHED, YarnApplicationState.FAILED, YarnApplicationState.KILLED);

  private final YarnConfiguration conf = new YarnConfiguration();
  private final YarnClient client = YarnClient.createYarnClient();

  public static void main(String[] arguments) throws Exception {
    int runs = Integer.parseInt(arguments[0]);
    Path work = Path.of(arguments[1]);
    Latency latency = new Latency();
    latency.client.init(latency.conf);
    latency.client.start();
    // A file that every run localizes: all but the first find it in the node's cache.
    Path payload = Files.writeString(work.resolve("payload"), "warm\n");
    for (int run = -WARM_UP_RUNS; run < runs; run++) {
      long micros = latency.submit(payload, work.resolve("stamp" + run));
      if (run >= 0) {
        System.out.println("submit " + micros);
      }
    }
    latency.allocate(runs);
    latency.client.stop();
  }

  /** Runs an application whose master writes the time, then kills it; microseconds from submit to that time. */
  private long submit(Path payload, Path stamp) throws Exception {
    ApplicationSubmissionContext context = context("latency-submit");
    String write = "/bin/date +%s%N > " + stamp + ".new && /bin/mv " + stamp + ".new " + stamp
        + " && exec /bin/sleep 120";
    context.setAMContainerSpec(ContainerLaunchContext.newInstance(
        Map.of("payload", resource(payload)), Map.of(), List.of(write), null, null, null));
    Instant begun = Instant.now();
    client.submitApplication(context);
    ApplicationId app = context.getApplicationId();
    awaitStamp(app, stamp);
    client.killApplication(app);
    long nanos = Long.parseLong(Files.readString(stamp).trim());
    return nanos / 1000 - (begun.getEpochSecond() * 1_000_000 + begun.getNano() / 1000);
  }

  /** Asks for containers one at a time over an unmanaged master and gives each back. */
  private void allocate(int runs) throws Exception {
    ApplicationSubmissionContext context = context("latency-allocate");
    context.setUnmanagedAM(true);
    context.setAMContainerSpec(ContainerLaunchContext.newInstance(null, null, null, null, null, null));
    client.submitApplication(context);
    ApplicationId app = context.getApplicationId();
    ApplicationMasterProtocol master = master(app);
    master.registerApplicationMaster(RegisterApplicationMasterRequest.newInstance("", -1, ""));
    int response = 0;
    for (int run = -WARM_UP_RUNS; run < runs; run++) {
      long begun = System.nanoTime();
      AllocateResponse answer = master.allocate(request(response, 1, List.of()));
      response = answer.getResponseId();
      while (answer.getAllocatedContainers().isEmpty()) {
        if (System.nanoTime() - begun > DEADLINE_MS * 1_000_000) {
          throw new IllegalStateException("no container was granted: " + diagnostics(app));
        }
        answer = master.allocate(AllocateRequest.newInstance(response, 0, List.of(), List.of(), null));
        response = answer.getResponseId();
      }
      long micros = (System.nanoTime() - begun) / 1000;
      if (run >= 0) {
        System.out.println("allocate " + micros);
      }
      ContainerId granted = answer.getAllocatedContainers().get(0).getId();
      response = master.allocate(request(response, 0, List.of(granted))).getResponseId();
    }
    FinishApplicationMasterRequest finish =
        FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "", "");
    while (!master.finishApplicationMaster(finish).getIsUnregistered()) {
      Thread.sleep(20);
    }
    System.out.println("application " + app);
  }

  private ApplicationSubmissionContext context(String name) throws Exception {
    ApplicationSubmissionContext context = client.createApplication().getApplicationSubmissionContext();
    context.setApplicationName(name);
    context.setQueue("default");
    context.setMaxAppAttempts(1);
    context.setResource(Resource.newInstance(1024, 1));
    return context;
  }

  private LocalResource resource(Path file) throws Exception {
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(file.toUri());
    FileStatus status = FileContext.getFileContext(conf).getFileStatus(path);
    return LocalResource.newInstance(URL.fromPath(path), LocalResourceType.FILE, LocalResourceVisibility.PRIVATE,
        status.getLen(), status.getModificationTime());
  }

  private AllocateRequest request(int response, int containers, List<ContainerId> released) {
    ResourceRequest ask = ResourceRequest.newInstance(
        Priority.newInstance(1), ResourceRequest.ANY, Resource.newInstance(1024, 1), containers);
    return AllocateRequest.newInstance(response, 0, new ArrayList<>(List.of(ask)), released, null);
  }

  /** The scheduler as the unmanaged master of the application sees it. */
  private ApplicationMasterProtocol master(ApplicationId app) throws Exception {
    long deadline = System.currentTimeMillis() + DEADLINE_MS;
    while (true) {
      ApplicationAttemptId attempt = client.getApplicationReport(app).getCurrentApplicationAttemptId();
      if (attempt != null && client.getApplicationAttemptReport(attempt).getYarnApplicationAttemptState()
          == YarnApplicationAttemptState.LAUNCHED) {
        Token<AMRMTokenIdentifier> token = client.getAMRMToken(app);
        token.setService(ClientRMProxy.getAMRMTokenService(conf));
        UserGroupInformation user = UserGroupInformation.createRemoteUser(attempt.toString());
        user.addToken(token);
        return user.doAs((PrivilegedExceptionAction<ApplicationMasterProtocol>)
            () -> ClientRMProxy.createRMProxy(conf, ApplicationMasterProtocol.class));
      }
      if (System.currentTimeMillis() > deadline) {
        throw new IllegalStateException("the unmanaged application did not launch: " + diagnostics(app));
      }
      Thread.sleep(20);
    }
  }

  private void awaitStamp(ApplicationId app, Path stamp) throws Exception {
    long deadline = System.currentTimeMillis() + DEADLINE_MS;
    while (!Files.exists(stamp)) {
      if (System.currentTimeMillis() > deadline
          || ENDED.contains(client.getApplicationReport(app).getYarnApplicationState())) {
        throw new IllegalStateException("the master of " + app + " did not run: " + diagnostics(app));
      }
      Thread.sleep(20);
    }
  }

  private String diagnostics(ApplicationId app) throws Exception {
    ApplicationReport report = client.getApplicationReport(app);
    return report.getYarnApplicationState() + ", " + report.getDiagnostics();
  }
}
