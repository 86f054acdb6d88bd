import com.fasterxml.jackson.databind.JsonNode;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.PreemptionMessage;
import org.apache.hadoop.yarn.api.records.PreemptionResourceRequest;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.YarnApplicationAttemptState;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;

/** An unmanaged application master whose every call the test decides, response ids included. */
final class UnmanagedAm {
  private static final long LAUNCH_DEADLINE_MS = 60_000;

  private final ApplicationAttemptId attempt;
  private final ApplicationMasterProtocol master;
  private final NMTokenCache tokens = new NMTokenCache();
  private final NMClient nodes;
  private final Map<String, Container> granted = new HashMap<>();

  private UnmanagedAm(Configuration conf, ApplicationAttemptId attempt, Token<AMRMTokenIdentifier> token)
      throws Exception {
    this.attempt = attempt;
    UserGroupInformation user = UserGroupInformation.createRemoteUser(attempt.toString());
    token.setService(ClientRMProxy.getAMRMTokenService(conf));
    user.addToken(token);
    this.master = user.doAs((PrivilegedExceptionAction<ApplicationMasterProtocol>)
        () -> ClientRMProxy.createRMProxy(conf, ApplicationMasterProtocol.class));
    this.nodes = NMClient.createNMClient();
    nodes.setNMTokenCache(tokens);
    nodes.init(conf);
    nodes.start();
    // A test ends its containers itself, or leaves them to the NodeManager.
    nodes.cleanupRunningContainersOnStop(false);
  }

  String id() {
    return attempt.getApplicationId().toString();
  }

  String attempt() {
    return attempt.toString();
  }

  static UnmanagedAm open(Configuration conf, YarnClient client, JsonNode request) throws Exception {
    ApplicationSubmissionContext context = client.createApplication().getApplicationSubmissionContext();
    context.setApplicationName(Apps.text(request, "name", "unmanaged"));
    context.setApplicationType("PROBE");
    context.setQueue(Apps.text(request, "queue", "default"));
    context.setUnmanagedAM(true);
    context.setMaxAppAttempts(1);
    context.setResource(Resource.newInstance(256, 1));
    context.setAMContainerSpec(Apps.launch(request));
    client.submitApplication(context);
    long deadline = System.currentTimeMillis() + LAUNCH_DEADLINE_MS;
    while (System.currentTimeMillis() < deadline) {
      ApplicationAttemptId attempt =
          client.getApplicationReport(context.getApplicationId()).getCurrentApplicationAttemptId();
      if (attempt != null && client.getApplicationAttemptReport(attempt).getYarnApplicationAttemptState()
          == YarnApplicationAttemptState.LAUNCHED) {
        return new UnmanagedAm(conf, attempt, client.getAMRMToken(context.getApplicationId()));
      }
      Thread.sleep(50);
    }
    throw new IllegalStateException("the unmanaged attempt was not launched: "
        + Apps.report(client, context.getApplicationId().toString()));
  }

  Object answer(String call, JsonNode request) throws Exception {
    switch (call) {
      case "am.register":
        return register(request);
      case "am.allocate":
        return allocate(request);
      case "am.start":
        nodes.startContainer(granted.get(request.get("container").asText()), Apps.launch(request));
        return Map.of();
      case "am.stop":
        Container stopped = granted.get(request.get("container").asText());
        nodes.stopContainer(stopped.getId(), stopped.getNodeId());
        return Map.of();
      case "am.status":
        Container asked = granted.get(request.get("container").asText());
        return status(nodes.getContainerStatus(asked.getId(), asked.getNodeId()));
      case "am.finish":
        return Map.of("unregistered", master.finishApplicationMaster(FinishApplicationMasterRequest.newInstance(
            FinalApplicationStatus.valueOf(Apps.text(request, "status", "SUCCEEDED")),
            Apps.text(request, "diagnostics", ""), Apps.text(request, "url", ""))).getIsUnregistered());
      default:
        throw new IllegalArgumentException("unknown call " + call);
    }
  }

  private Map<String, Object> register(JsonNode request) throws Exception {
    RegisterApplicationMasterResponse response = master.registerApplicationMaster(
        RegisterApplicationMasterRequest.newInstance(Apps.text(request, "host", "127.0.0.1"),
            Apps.number(request, "port", -1), Apps.text(request, "url", "")));
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("queue", response.getQueue());
    fields.put("memory_mb", response.getMaximumResourceCapability().getMemorySize());
    fields.put("vcores", response.getMaximumResourceCapability().getVirtualCores());
    fields.put("types", String.valueOf(response.getSchedulerResourceTypes()));
    fields.put("secret", response.getClientToAMTokenMasterKey() != null
        && response.getClientToAMTokenMasterKey().hasRemaining());
    Map<String, String> lists = new TreeMap<>();
    response.getApplicationACLs().forEach((kind, list) -> lists.put(kind.name(), list));
    fields.put("acls", lists);
    return fields;
  }

  private static List<ResourceRequest> asks(JsonNode request) {
    List<ResourceRequest> asks = new ArrayList<>();
    if (request.hasNonNull("asks")) {
      for (JsonNode ask : request.get("asks")) {
        Resource size = Resource.newInstance(Apps.number(ask, "memory", 256), Apps.number(ask, "vcores", 1));
        if (ask.hasNonNull("resources")) {
          ask.get("resources").fields().forEachRemaining(e -> size.setResourceValue(e.getKey(), e.getValue().asLong()));
        }
        ResourceRequest one = ResourceRequest.newInstance(
            Priority.newInstance(Apps.number(ask, "priority", 1)), Apps.text(ask, "name", "*"), size,
            Apps.number(ask, "count", 1), !ask.hasNonNull("relax") || ask.get("relax").asBoolean());
        if (ask.hasNonNull("label")) {
          one.setNodeLabelExpression(ask.get("label").asText());
        }
        asks.add(one);
      }
    }
    return asks;
  }

  private Map<String, Object> allocate(JsonNode request) throws Exception {
    List<ContainerId> released = new ArrayList<>();
    if (request.hasNonNull("release")) {
      request.get("release").forEach(id -> released.add(ContainerId.fromString(id.asText())));
    }
    AllocateResponse response = master.allocate(AllocateRequest.newInstance(
        request.get("response_id").asInt(), 0.5f, asks(request), released,
        ResourceBlacklistRequest.newInstance(new ArrayList<>(), new ArrayList<>())));
    for (NMToken token : response.getNMTokens()) {
      tokens.setToken(token.getNodeId().toString(), token.getToken());
    }
    List<Object> allocated = new ArrayList<>();
    for (Container one : response.getAllocatedContainers()) {
      granted.put(one.getId().toString(), one);
      Map<String, Object> fields = new LinkedHashMap<>();
      fields.put("container", one.getId().toString());
      fields.put("node", one.getNodeId().toString());
      fields.put("http", one.getNodeHttpAddress());
      fields.put("memory", one.getResource().getMemorySize());
      fields.put("vcores", one.getResource().getVirtualCores());
      fields.put("resources", Apps.amounts(one.getResource()));
      fields.put("priority", one.getPriority().getPriority());
      allocated.add(fields);
    }
    List<Object> completed = new ArrayList<>();
    for (ContainerStatus one : response.getCompletedContainersStatuses()) {
      completed.add(status(one));
    }
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("response_id", response.getResponseId());
    fields.put("allocated", allocated);
    fields.put("completed", completed);
    fields.put("nm_tokens", response.getNMTokens().stream().map(t -> t.getNodeId().toString()).toArray());
    fields.put("nodes", response.getNumClusterNodes());
    fields.put("limit_mb", response.getAvailableResources() == null ? -1
        : response.getAvailableResources().getMemorySize());
    fields.put("priority", response.getApplicationPriority() == null ? -1
        : response.getApplicationPriority().getPriority());
    fields.put("asked_back", askedBack(response.getPreemptionMessage()));
    return fields;
  }

  /** What the scheduler asks back: containers that go anyway, and a contract that can be met in other ways. */
  private static Map<String, Object> askedBack(PreemptionMessage message) {
    if (message == null) {
      return Map.of();
    }
    List<String> strict = new ArrayList<>();
    if (message.getStrictContract() != null) {
      message.getStrictContract().getContainers().forEach(one -> strict.add(one.getId().toString()));
    }
    List<String> contract = new ArrayList<>();
    List<Object> amounts = new ArrayList<>();
    if (message.getContract() != null) {
      message.getContract().getContainers().forEach(one -> contract.add(one.getId().toString()));
      for (PreemptionResourceRequest one : message.getContract().getResourceRequest()) {
        ResourceRequest request = one.getResourceRequest();
        amounts.add(Map.of("name", request.getResourceName(), "count", request.getNumContainers(),
            "memory", request.getCapability().getMemorySize(), "vcores", request.getCapability().getVirtualCores()));
      }
    }
    return Map.of("strict", strict, "contract", contract, "amounts", amounts);
  }

  private static Map<String, Object> status(ContainerStatus status) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("container", status.getContainerId().toString());
    fields.put("state", status.getState().name());
    fields.put("exit", status.getExitStatus());
    fields.put("diagnostics", status.getDiagnostics());
    return fields;
  }
}
