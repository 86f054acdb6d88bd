import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.StorageUnit;

/** Prints what Hadoop's typed getters make of each line of the file named first: `value TAB getter TAB answer`. */
public class Getters {
  interface Getter {
    Object of(Configuration conf);
  }

  static void line(String value, String name, Configuration conf, Getter getter) {
    String answer;
    try {
      answer = String.valueOf(getter.of(conf));
    } catch (RuntimeException e) {
      answer = "refused";
    }
    System.out.println(value + "\t" + name + "\t" + answer);
  }

  public static void main(String[] args) throws Exception {
    for (String value : Files.readAllLines(Path.of(args[0]))) {
      Configuration conf = new Configuration(false);
      conf.set("k", value.replace("\\t", "\t").replace("\\n", "\n"));
      line(value, "int", conf, c -> c.getInt("k", 7));
      line(value, "long", conf, c -> c.getLong("k", 7));
      line(value, "float", conf, c -> c.getFloat("k", 7));
      line(value, "bool", conf, c -> c.getBoolean("k", false) + "/" + c.getBoolean("k", true));
      line(value, "ms", conf, c -> c.getTimeDuration("k", 7, TimeUnit.MILLISECONDS));
      line(value, "s", conf, c -> c.getTimeDuration("k", 7, TimeUnit.SECONDS, TimeUnit.MILLISECONDS));
      line(value, "bytes", conf, c -> c.getLongBytes("k", 7));
      line(value, "storage", conf, c -> c.getStorageSize("k", 7, StorageUnit.BYTES));
    }
  }
}
