import java.io.File;
import java.util.HashMap;
import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * A small application master built of Hadoop's own client libraries: asks for
 * containers, starts the same command in each, and finishes when a file appears.
 *
 * <p>Arguments: number of containers, memory in MiB, command, the file to wait for.
 */
public final class MiniAm {
  private MiniAm() {
  }

  public static void main(String[] args) throws Exception {
    int wanted = Integer.parseInt(args[0]);
    YarnConfiguration conf = new YarnConfiguration();
    AMRMClient<AMRMClient.ContainerRequest> resources = AMRMClient.createAMRMClient();
    resources.init(conf);
    resources.start();
    NMClient nodes = NMClient.createNMClient();
    nodes.init(conf);
    nodes.start();
    resources.registerApplicationMaster("127.0.0.1", 4711, "http://127.0.0.1:4712/probe");
    Resource size = Resource.newInstance(Integer.parseInt(args[1]), 1);
    for (int i = 0; i < wanted; i++) {
      resources.addContainerRequest(
          new AMRMClient.ContainerRequest(size, null, null, Priority.newInstance(1)));
    }
    File finish = new File(args[3]);
    while (!finish.exists()) {
      AllocateResponse response = resources.allocate(0.25f);
      for (Container container : response.getAllocatedContainers()) {
        nodes.startContainer(container, ContainerLaunchContext.newInstance(
            new HashMap<>(), new HashMap<>(), List.of(args[2]), new HashMap<>(), null, new HashMap<>()));
      }
      Thread.sleep(200);
    }
    resources.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "finished as told", "");
    nodes.stop();
    resources.stop();
  }
}
