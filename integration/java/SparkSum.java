import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** A Java job with a shuffle. Arguments: how many numbers, the file for the answer. */
public final class SparkSum {
  private SparkSum() {
  }

  public static void main(String[] args) throws Exception {
    try (JavaSparkContext context = new JavaSparkContext(new SparkConf())) {
      List<Long> numbers = new ArrayList<>();
      for (long n = 0; n < Long.parseLong(args[0]); n++) {
        numbers.add(n);
      }
      long sum = context.parallelize(numbers, 4)
          .mapToPair(n -> new Tuple2<>(n % 5, n * n))
          .reduceByKey(Long::sum)
          .map(Tuple2::_2)
          .reduce(Long::sum);
      Files.writeString(Path.of(args[1]), "result: " + sum + "\n");
    }
  }
}
