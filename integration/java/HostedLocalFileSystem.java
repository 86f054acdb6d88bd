import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The local file system under an address with a host. skein asks every file
 * system for its host before it copies, and the local one has none; paths stay
 * what they are.
 */
public final class HostedLocalFileSystem extends LocalFileSystem {
  @Override
  public URI getUri() {
    return URI.create("file://localhost/");
  }

  @Override
  public Path makeQualified(Path path) {
    return path.makeQualified(URI.create("file:///"), getWorkingDirectory());
  }

  @Override
  public Path resolvePath(Path path) throws IOException {
    return makeQualified(path);
  }

  @Override
  protected void checkPath(Path path) {
    // Whatever is asked of the local file system is local.
  }
}
