import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * A stock Hadoop client that the Python tests talk to: one JSON request a line
 * on stdin, one JSON answer a line on stdout. One JVM serves a whole run.
 */
public final class Console {
  static final ObjectMapper JSON = new ObjectMapper();

  private final YarnConfiguration conf = new YarnConfiguration();
  private final Map<String, UnmanagedAm> masters = new HashMap<>();
  private final Map<String, ResizeAm> resizers = new HashMap<>();
  private YarnClient client;

  private Console() {
    conf.setLong(YarnConfiguration.RESOURCEMANAGER_CONNECT_MAX_WAIT_MS, 20_000);
    conf.setLong(YarnConfiguration.RESOURCEMANAGER_CONNECT_RETRY_INTERVAL_MS, 250);
    conf.setLong(YarnConfiguration.CLIENT_NM_CONNECT_MAX_WAIT_MS, 10_000);
    conf.setLong(YarnConfiguration.CLIENT_NM_CONNECT_RETRY_INTERVAL_MS, 250);
    connect();
  }

  private void connect() {
    client = YarnClient.createYarnClient();
    client.init(conf);
    client.start();
  }

  private Object answer(JsonNode request) throws Exception {
    String call = request.get("call").asText();
    switch (call) {
      case "cli":
        return Cli.run(conf, request);
      case "submit":
        return Apps.submit(client, request);
      case "report":
        return Apps.report(client, request.get("app").asText());
      case "attempts":
        return Apps.attempts(client, request.get("app").asText());
      case "containers":
        return Apps.containers(client, request.get("attempt").asText());
      case "nodes":
        return Apps.nodes(client);
      case "kill":
        client.killApplication(Apps.appId(request.get("app").asText()));
        return Map.of();
      case "reconnect":
        client.stop();
        connect();
        return Map.of();
      case "am.open":
        UnmanagedAm opened = UnmanagedAm.open(conf, client, request);
        masters.put(opened.id(), opened);
        return Map.of("app", opened.id(), "attempt", opened.attempt());
      case "resize.open":
        UnmanagedAm launched = UnmanagedAm.open(conf, client, request);
        resizers.put(launched.id(), ResizeAm.open(conf, client, launched));
        return Map.of("app", launched.id());
      default:
        if (call.startsWith("resize.")) {
          return resizers.get(request.get("app").asText()).answer(call, request);
        }
        if (!call.startsWith("am.")) {
          throw new IllegalArgumentException("unknown call " + call);
        }
        return masters.get(request.get("app").asText()).answer(call, request);
    }
  }

  private static Map<String, Object> failure(Throwable thrown) {
    Throwable cause = thrown;
    while (cause instanceof java.lang.reflect.UndeclaredThrowableException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("error", cause.getClass().getName());
    fields.put("message", String.valueOf(cause.getMessage()));
    StringBuilder chain = new StringBuilder();
    for (Throwable t = cause; t != null; t = t.getCause()) {
      chain.append(t.getClass().getName()).append(": ").append(t.getMessage()).append('\n');
    }
    fields.put("chain", chain.toString());
    return fields;
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, "UTF-8");
    // Whatever the libraries print must not mix with the answers.
    System.setOut(System.err);
    Console console = new Console();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Object answer;
      try {
        answer = Map.of("ok", console.answer(JSON.readTree(line)));
      } catch (Throwable thrown) {
        answer = failure(thrown);
      }
      out.println(JSON.writeValueAsString(answer));
    }
    System.exit(0);
  }
}
