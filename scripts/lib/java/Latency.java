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
import org.apache.hadoop.yarn.api.records.ResourceInformation;
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
 * <p>Arguments: the number of runs, a directory to work in, and the GPUs of the cluster. Prints one line for
 * each measurement: {@code submit MICROS} (submit call begun to first command of the AM), {@code allocate MICROS}
 * (allocate call begun to the answer that holds the container), {@code gpus MICROS} (allocate call that asks for
 * as many containers of one GPU as there are GPUs, begun to the answer that holds the last), and {@code
 * application ID} of the application that asked for single containers.
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
    try (Master master = latency.new Master("latency-allocate")) {
      latency.allocate(master, runs);
      System.out.println("application " + master.app);
    }
    try (Master master = latency.new Master("latency-gpus")) {
      latency.gpus(master, runs, Integer.parseInt(arguments[2]));
    }
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

  /** Asks for containers one at a time and gives each back. */
  private void allocate(Master master, int runs) throws Exception {
    Resource ask = Resource.newInstance(1024, 1);
    for (int run = -WARM_UP_RUNS; run < runs; run++) {
      long micros = master.ask(ask, 1);
      if (run >= 0) {
        System.out.println("allocate " + micros);
      }
      master.release(ask);
    }
  }

  /** Asks for all GPUs at once, one for each container, and gives them back. */
  private void gpus(Master master, int runs, int gpus) throws Exception {
    Resource ask = Resource.newInstance(512, 1, Map.of(ResourceInformation.GPU_URI, 1L));
    for (int run = -WARM_UP_RUNS; run < runs; run++) {
      long micros = master.ask(ask, gpus);
      if (run >= 0) {
        System.out.println("gpus " + micros);
      }
      master.release(ask);
      master.await(ResourceInformation.GPU_URI, gpus);
    }
  }

  /** An unmanaged master: the scheduler as it sees it. */
  private final class Master implements AutoCloseable {
    final ApplicationId app;
    private final ApplicationMasterProtocol scheduler;
    private final List<ContainerId> held = new ArrayList<>();
    private int response;

    Master(String name) throws Exception {
      ApplicationSubmissionContext context = context(name);
      context.setUnmanagedAM(true);
      context.setAMContainerSpec(ContainerLaunchContext.newInstance(null, null, null, null, null, null));
      client.submitApplication(context);
      app = context.getApplicationId();
      scheduler = scheduler(app);
      scheduler.registerApplicationMaster(RegisterApplicationMasterRequest.newInstance("", -1, ""));
    }

    /** Asks for containers and waits for them all; microseconds. */
    long ask(Resource ask, int containers) throws Exception {
      long begun = System.nanoTime();
      take(allocate(ask, containers, List.of()));
      while (held.size() < containers) {
        if (System.nanoTime() - begun > DEADLINE_MS * 1_000_000) {
          throw new IllegalStateException(held.size() + " of " + containers + " containers were granted: "
              + diagnostics(app));
        }
        take(allocate(null, 0, List.of()));
      }
      return (System.nanoTime() - begun) / 1000;
    }

    /** Gives everything back and asks for nothing more. */
    void release(Resource ask) throws Exception {
      allocate(ask, 0, List.copyOf(held));
      held.clear();
    }

    /** Waits until so much of a resource is free for this application. */
    void await(String resource, long amount) throws Exception {
      long deadline = System.currentTimeMillis() + DEADLINE_MS;
      while (allocate(null, 0, List.of()).getAvailableResources().getResourceValue(resource) < amount) {
        if (System.currentTimeMillis() > deadline) {
          throw new IllegalStateException(amount + " of " + resource + " did not become free: " + diagnostics(app));
        }
        Thread.sleep(20);
      }
    }

    private void take(AllocateResponse answer) {
      answer.getAllocatedContainers().forEach(container -> held.add(container.getId()));
    }

    private AllocateResponse allocate(Resource ask, int containers, List<ContainerId> released) throws Exception {
      List<ResourceRequest> asks = ask == null ? List.of() : List.of(
          ResourceRequest.newInstance(Priority.newInstance(1), ResourceRequest.ANY, ask, containers));
      AllocateResponse answer = scheduler.allocate(
          AllocateRequest.newInstance(response, 0, new ArrayList<>(asks), released, null));
      response = answer.getResponseId();
      return answer;
    }

    @Override
    public void close() throws Exception {
      FinishApplicationMasterRequest finish =
          FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "", "");
      while (!scheduler.finishApplicationMaster(finish).getIsUnregistered()) {
        Thread.sleep(20);
      }
    }
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

  /** The scheduler as the unmanaged master of the application sees it. */
  private ApplicationMasterProtocol scheduler(ApplicationId app) throws Exception {
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
