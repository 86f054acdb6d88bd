import com.fasterxml.jackson.databind.JsonNode;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdatedContainer;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;

/** An unmanaged application master of Hadoop's client libraries that changes its containers' sizes when told to. */
final class ResizeAm {
  private final AMRMClient<AMRMClient.ContainerRequest> resources = AMRMClient.createAMRMClient();
  private final NMClient nodes = NMClient.createNMClient();
  /** Containers as they were granted, and as they were told last. */
  private final Map<String, Container> first = new HashMap<>();
  private final Map<String, Container> latest = new HashMap<>();
  /** What was asked for and is not granted yet. */
  private AMRMClient.ContainerRequest wanted;

  private ResizeAm(Configuration conf, String attempt, Token<AMRMTokenIdentifier> token) throws Exception {
    UserGroupInformation user = UserGroupInformation.createRemoteUser(attempt);
    token.setService(ClientRMProxy.getAMRMTokenService(conf));
    user.addToken(token);
    NMTokenCache tokens = new NMTokenCache();
    resources.setNMTokenCache(tokens);
    nodes.setNMTokenCache(tokens);
    nodes.cleanupRunningContainersOnStop(true);
    user.doAs((PrivilegedExceptionAction<Void>) () -> {
      resources.init(conf);
      resources.start();
      nodes.init(conf);
      nodes.start();
      resources.registerApplicationMaster("127.0.0.1", -1, "");
      return null;
    });
  }

  static ResizeAm open(Configuration conf, YarnClient client, UnmanagedAm launched) throws Exception {
    ApplicationId app = Apps.appId(launched.id());
    return new ResizeAm(conf, launched.attempt(), client.getAMRMToken(app));
  }

  Object answer(String call, JsonNode request) throws Exception {
    switch (call) {
      case "resize.ask":
        wanted = new AMRMClient.ContainerRequest(size(request), null, null, Priority.newInstance(1));
        resources.addContainerRequest(wanted);
        return Map.of();
      case "resize.allocate":
        return allocate();
      case "resize.start":
        nodes.startContainer(latest.get(id(request)), Apps.launch(request));
        return Map.of();
      case "resize.request":
        Container container = (request.hasNonNull("stale") ? first : latest).get(id(request));
        resources.requestContainerUpdate(container, UpdateContainerRequest.newInstance(container.getVersion(),
            container.getId(), ContainerUpdateType.valueOf(request.get("type").asText()), size(request), null));
        return Map.of();
      case "resize.use":
        nodes.updateContainerResource(latest.get(id(request)));
        return Map.of();
      case "resize.release":
        resources.releaseAssignedContainer(ContainerId.fromString(id(request)));
        return Map.of();
      case "resize.finish":
        resources.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
        nodes.stop();
        resources.stop();
        return Map.of();
      default:
        throw new IllegalArgumentException("unknown call " + call);
    }
  }

  private static String id(JsonNode request) {
    return request.get("container").asText();
  }

  private static Resource size(JsonNode request) {
    Resource size = Resource.newInstance(Apps.number(request, "memory", 256), Apps.number(request, "vcores", 1));
    if (request.hasNonNull("resources")) {
      request.get("resources").fields().forEachRemaining(e -> size.setResourceValue(e.getKey(), e.getValue().asLong()));
    }
    return size;
  }

  private static Map<String, Object> shown(Container one) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("container", one.getId().toString());
    fields.put("node", one.getNodeId().toString());
    fields.put("version", one.getVersion());
    fields.put("memory", one.getResource().getMemorySize());
    fields.put("vcores", one.getResource().getVirtualCores());
    fields.put("resources", Apps.amounts(one.getResource()));
    return fields;
  }

  private Map<String, Object> allocate() throws Exception {
    AllocateResponse response = resources.allocate(0.5f);
    List<Object> allocated = new ArrayList<>();
    for (Container one : response.getAllocatedContainers()) {
      resources.removeContainerRequest(wanted);
      first.put(one.getId().toString(), one);
      latest.put(one.getId().toString(), one);
      allocated.add(shown(one));
    }
    List<Object> updated = new ArrayList<>();
    for (UpdatedContainer one : response.getUpdatedContainers()) {
      Container container = one.getContainer();
      latest.put(container.getId().toString(), container);
      Map<String, Object> fields = shown(container);
      fields.put("type", one.getUpdateType().toString());
      updated.add(fields);
    }
    List<Object> errors = new ArrayList<>();
    for (UpdateContainerError one : response.getUpdateErrors()) {
      Map<String, Object> fields = new LinkedHashMap<>();
      fields.put("container", one.getUpdateContainerRequest().getContainerId().toString());
      fields.put("reason", one.getReason());
      fields.put("version", one.getCurrentContainerVersion());
      errors.add(fields);
    }
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("allocated", allocated);
    fields.put("updated", updated);
    fields.put("errors", errors);
    List<Object> ended = new ArrayList<>();
    for (ContainerStatus one : response.getCompletedContainersStatuses()) {
      ended.add(one.getContainerId().toString());
    }
    fields.put("ended", ended);
    return fields;
  }
}
