import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.ToolRunner;
import org.apache.hadoop.yarn.client.cli.ApplicationCLI;
import org.apache.hadoop.yarn.client.cli.ClusterCLI;
import org.apache.hadoop.yarn.client.cli.NodeCLI;
import org.apache.hadoop.yarn.client.cli.QueueCLI;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.apache.hadoop.yarn.client.cli.YarnCLI;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Runs a command of the stock CLI the way its own main does, and keeps what it prints. */
final class Cli {
  private Cli() {
  }

  /** rmadmin is a class of another kind: it takes its streams from System when it is made. */
  private static int rmadmin(Configuration conf, String[] words, PrintStream printer) throws Exception {
    PrintStream errors = System.err;
    System.setErr(printer);
    try {
      return ToolRunner.run(new RMAdminCLI(new YarnConfiguration(conf)), words);
    } finally {
      System.setErr(errors);
    }
  }

  private static YarnCLI named(String name) throws Exception {
    switch (name) {
      case "ApplicationCLI":
        return new ApplicationCLI();
      case "NodeCLI":
        return new NodeCLI();
      case "QueueCLI":
        return new QueueCLI();
      default:
        return new ClusterCLI();
    }
  }

  static Map<String, Object> run(Configuration conf, JsonNode request) throws Exception {
    ByteArrayOutputStream kept = new ByteArrayOutputStream();
    PrintStream printer = new PrintStream(kept, true, "UTF-8");
    String[] words = new String[request.get("args").size()];
    for (int i = 0; i < words.length; i++) {
      words[i] = request.get("args").get(i).asText();
    }
    PrintStream before = System.out;
    System.setOut(printer);
    YarnCLI cli = null;
    int code;
    try {
      if (request.get("class").asText().equals("RMAdminCLI")) {
        return Map.of("rc", rmadmin(conf, words, printer), "text", kept.toString("UTF-8"));
      }
      cli = named(request.get("class").asText());
      cli.setConf(new YarnConfiguration(conf));
      cli.setSysOutPrintStream(printer);
      cli.setSysErrPrintStream(printer);
      code = ToolRunner.run(cli, words);
    } finally {
      System.setOut(before);
      if (cli != null) {
        cli.stop();
      }
    }
    return Map.of("rc", code, "text", kept.toString("UTF-8"));
  }
}
