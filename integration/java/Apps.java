import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAccessType;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptReport;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerReport;
import org.apache.hadoop.yarn.api.records.LocalResource;
import org.apache.hadoop.yarn.api.records.LocalResourceType;
import org.apache.hadoop.yarn.api.records.LocalResourceVisibility;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.api.records.URL;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;

/** Applications as a client sees them. */
final class Apps {
  private Apps() {
  }

  static ApplicationId appId(String text) {
    return ApplicationId.fromString(text);
  }

  static String text(JsonNode request, String field, String otherwise) {
    return request.hasNonNull(field) ? request.get(field).asText() : otherwise;
  }

  static int number(JsonNode request, String field, int otherwise) {
    return request.hasNonNull(field) ? request.get(field).asInt() : otherwise;
  }

  /** A launch context from `command`, `env`, `resources`, `services` and `acls` of the request. */
  static ContainerLaunchContext launch(JsonNode request) {
    Map<String, LocalResource> resources = new HashMap<>();
    if (request.hasNonNull("resources")) {
      request.get("resources").fields().forEachRemaining(e -> resources.put(e.getKey(), resource(e.getValue())));
    }
    Map<String, String> env = new HashMap<>();
    if (request.hasNonNull("env")) {
      request.get("env").fields().forEachRemaining(e -> env.put(e.getKey(), e.getValue().asText()));
    }
    Map<String, ByteBuffer> services = new HashMap<>();
    if (request.hasNonNull("services")) {
      request.get("services").fields().forEachRemaining(
          e -> services.put(e.getKey(), ByteBuffer.wrap(Base64.getDecoder().decode(e.getValue().asText()))));
    }
    Map<ApplicationAccessType, String> lists = new HashMap<>();
    if (request.hasNonNull("acls")) {
      request.get("acls").fields().forEachRemaining(
          e -> lists.put(ApplicationAccessType.valueOf(e.getKey()), e.getValue().asText()));
    }
    return ContainerLaunchContext.newInstance(
        resources, env, List.of(text(request, "command", "true")), services, null, lists);
  }

  private static LocalResource resource(JsonNode node) {
    String path = node.get("path").asText();
    String scheme = text(node, "scheme", "file");
    File file = new File(path);
    long size = node.hasNonNull("size") ? node.get("size").asLong() : file.length();
    long timestamp = node.hasNonNull("timestamp") ? node.get("timestamp").asLong() : file.lastModified();
    URL url = URL.newInstance(scheme, text(node, "host", null), -1, path);
    return LocalResource.newInstance(url, LocalResourceType.valueOf(text(node, "type", "FILE")),
        LocalResourceVisibility.valueOf(text(node, "visibility", "PRIVATE")), size, timestamp);
  }

  static Map<String, Object> submit(YarnClient client, JsonNode request) throws Exception {
    ApplicationSubmissionContext context = client.createApplication().getApplicationSubmissionContext();
    context.setApplicationName(text(request, "name", "probe"));
    context.setApplicationType(text(request, "type", "PROBE"));
    context.setQueue(text(request, "queue", "default"));
    context.setResource(Resource.newInstance(number(request, "memory", 256), number(request, "vcores", 1)));
    context.setAMContainerSpec(launch(request));
    if (request.hasNonNull("attempts")) {
      context.setMaxAppAttempts(request.get("attempts").asInt());
    }
    if (request.hasNonNull("keep")) {
      context.setKeepContainersAcrossApplicationAttempts(request.get("keep").asBoolean());
    }
    if (request.hasNonNull("validity_ms")) {
      context.setAttemptFailuresValidityInterval(request.get("validity_ms").asLong());
    }
    if (request.hasNonNull("wait") && request.get("wait").asBoolean()) {
      return Map.of("app", client.submitApplication(context).toString());
    }
    // YarnClient's own submission polls, and throws when the application fails at once.
    ApplicationClientProtocol raw = ClientRMProxy.createRMProxy(client.getConfig(), ApplicationClientProtocol.class);
    try {
      raw.submitApplication(SubmitApplicationRequest.newInstance(context));
    } finally {
      RPC.stopProxy(raw);
    }
    return Map.of("app", context.getApplicationId().toString());
  }

  static Map<String, Object> report(YarnClient client, String app) throws Exception {
    ApplicationReport report = client.getApplicationReport(appId(app));
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("app", app);
    fields.put("name", report.getName());
    fields.put("user", report.getUser());
    fields.put("queue", report.getQueue());
    fields.put("state", report.getYarnApplicationState().name());
    fields.put("final", report.getFinalApplicationStatus().name());
    fields.put("diagnostics", report.getDiagnostics());
    fields.put("attempt", String.valueOf(report.getCurrentApplicationAttemptId()));
    fields.put("host", report.getHost());
    fields.put("port", report.getRpcPort());
    fields.put("tracking", report.getTrackingUrl());
    fields.put("original", report.getOriginalTrackingUrl());
    fields.put("start", report.getStartTime());
    fields.put("finish", report.getFinishTime());
    fields.put("containers", report.getApplicationResourceUsageReport().getNumUsedContainers());
    return fields;
  }

  static List<Object> attempts(YarnClient client, String app) throws Exception {
    List<Object> rows = new ArrayList<>();
    for (ApplicationAttemptReport one : client.getApplicationAttempts(appId(app))) {
      Map<String, Object> fields = new LinkedHashMap<>();
      fields.put("attempt", one.getApplicationAttemptId().toString());
      fields.put("state", one.getYarnApplicationAttemptState().name());
      fields.put("diagnostics", one.getDiagnostics());
      fields.put("master", String.valueOf(one.getAMContainerId()));
      fields.put("tracking", one.getTrackingUrl());
      rows.add(fields);
    }
    return rows;
  }

  static List<Object> containers(YarnClient client, String attempt) throws Exception {
    List<Object> rows = new ArrayList<>();
    for (ContainerReport one : client.getContainers(ApplicationAttemptId.fromString(attempt))) {
      Map<String, Object> fields = new LinkedHashMap<>();
      fields.put("container", one.getContainerId().toString());
      fields.put("state", one.getContainerState().name());
      fields.put("node", String.valueOf(one.getAssignedNode()));
      fields.put("log", one.getLogUrl());
      fields.put("memory", one.getAllocatedResource().getMemorySize());
      rows.add(fields);
    }
    return rows;
  }

  /** Every type of a resource by the name that the client knows it under. */
  static Map<String, Object> amounts(Resource resource) {
    Map<String, Object> fields = new LinkedHashMap<>();
    for (ResourceInformation one : resource.getResources()) {
      fields.put(one.getName(), one.getValue());
    }
    return fields;
  }

  static List<Object> nodes(YarnClient client) throws Exception {
    List<Object> rows = new ArrayList<>();
    for (NodeReport one : client.getNodeReports(NodeState.values())) {
      Map<String, Object> fields = new LinkedHashMap<>();
      fields.put("node", one.getNodeId().toString());
      fields.put("state", one.getNodeState().name());
      fields.put("http", one.getHttpAddress());
      fields.put("containers", one.getNumContainers());
      fields.put("decommissioning_timeout", one.getDecommissioningTimeout());
      fields.put("used_mb", one.getUsed().getMemorySize());
      fields.put("memory_mb", one.getCapability().getMemorySize());
      fields.put("resources", amounts(one.getCapability()));
      fields.put("used", amounts(one.getUsed()));
      rows.add(fields);
    }
    return rows;
  }
}
