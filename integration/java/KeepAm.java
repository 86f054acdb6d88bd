import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.hadoop.yarn.api.ApplicationConstants;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * An application master that dies when it is told to, and whose next attempt writes down what it
 * got of the earlier one. Everything it learns is a line in the file `news.ATTEMPT` of a folder.
 *
 * <p>Arguments: number of containers, memory in MiB, command, the folder. The file `crash.ATTEMPT`
 * there ends that attempt with an error, the file `finish` ends the application.
 */
public final class KeepAm {
  private final Path folder;
  private final int attempt;
  private final List<String> news = new ArrayList<>();

  private KeepAm(Path folder, int attempt) {
    this.folder = folder;
    this.attempt = attempt;
  }

  private void tell(String line) throws Exception {
    news.add(line);
    Path aside = folder.resolve("aside." + attempt);
    Files.write(aside, news);
    Files.move(aside, folder.resolve("news." + attempt), java.nio.file.StandardCopyOption.ATOMIC_MOVE,
        java.nio.file.StandardCopyOption.REPLACE_EXISTING);
  }

  private boolean told(String name) {
    return Files.exists(folder.resolve(name));
  }

  public static void main(String[] args) throws Exception {
    ContainerId own = ContainerId.fromString(System.getenv(ApplicationConstants.Environment.CONTAINER_ID.key()));
    new KeepAm(Path.of(args[3]), own.getApplicationAttemptId().getAttemptId()).run(args);
  }

  private void run(String[] args) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    AMRMClient<AMRMClient.ContainerRequest> resources = AMRMClient.createAMRMClient();
    resources.init(conf);
    resources.start();
    NMClient nodes = NMClient.createNMClient();
    nodes.init(conf);
    nodes.start();
    RegisterApplicationMasterResponse registered = resources.registerApplicationMaster("127.0.0.1", 4711, "");
    for (Container container : registered.getContainersFromPreviousAttempts()) {
      ContainerStatus status = nodes.getContainerStatus(container.getId(), container.getNodeId());
      tell("kept " + container.getId() + " " + status.getState());
    }
    tell("tokens " + registered.getNMTokensFromPreviousAttempts().size());
    int wanted = attempt == 1 ? Integer.parseInt(args[0]) : 0;
    Resource size = Resource.newInstance(Integer.parseInt(args[1]), 1);
    for (int i = 0; i < wanted; i++) {
      resources.addContainerRequest(
          new AMRMClient.ContainerRequest(size, null, null, Priority.newInstance(1)));
    }
    while (!told("finish")) {
      AllocateResponse response = resources.allocate(0.5f);
      for (Container container : response.getAllocatedContainers()) {
        nodes.startContainer(container, ContainerLaunchContext.newInstance(
            new HashMap<>(), new HashMap<>(), List.of(args[2]), new HashMap<>(), null, new HashMap<>()));
        tell("started " + container.getId());
      }
      for (ContainerStatus status : response.getCompletedContainersStatuses()) {
        tell("completed " + status.getContainerId() + " " + status.getExitStatus());
      }
      for (NodeReport node : response.getUpdatedNodes()) {
        tell("node " + node.getNodeId() + " " + node.getNodeState() + " " + node.getNodeUpdateType() + " "
            + node.getDecommissioningTimeout() + " " + node.getNumContainers() + " "
            + node.getCapability().getMemorySize());
      }
      if (response.getPreemptionMessage() != null && response.getPreemptionMessage().getContract() != null) {
        response.getPreemptionMessage().getContract().getContainers().forEach(c -> {
          try {
            tell("preempting " + c.getId());
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
      }
      if (told("crash." + attempt)) {
        // Without unregistering, and without stopping what runs.
        Runtime.getRuntime().halt(3);
      }
      Thread.sleep(200);
    }
    resources.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "finished as told", "");
    System.exit(0);
  }
}
