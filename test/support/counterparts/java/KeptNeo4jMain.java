// Neo4j Community embedded in a folder that it keeps, with Bolt on 127.0.0.1 and without passwords: it can be killed and started again.
//   java -cp '<folder of classes>:libs/*' KeptNeo4jMain <folder> <port> <MiB of the page cache> <MiB of a transaction, 0: no limit>
// It ends when its standard input is closed, so that it does not outlive the process that started it.
import java.nio.file.Path;
import java.time.Duration;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

public class KeptNeo4jMain {
  public static void main(String[] args) throws Exception {
    DatabaseManagementService neo4j =
        new DatabaseManagementServiceBuilder(Path.of(args[0]))
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", Integer.parseInt(args[1])))
            .setConfig(HttpConnector.enabled, false)
            .setConfig(GraphDatabaseSettings.auth_enabled, false)
            // It sends nothing to its vendor.
            .setConfig(GraphDatabaseSettings.udc_enabled, false)
            .setConfig(GraphDatabaseSettings.transaction_timeout, Duration.ZERO)
            .setConfig(GraphDatabaseSettings.memory_transaction_max_size, mebibytes(args[3]))
            .setConfig(GraphDatabaseSettings.pagecache_memory, mebibytes(args[2]))
            .build();
    if (!neo4j.database(GraphDatabaseSettings.DEFAULT_DATABASE_NAME).isAvailable(60_000)) {
      throw new IllegalStateException("the database does not become available");
    }
    System.out.println("listening bolt://127.0.0.1:" + args[1]);
    while (System.in.read() >= 0) {}
    neo4j.shutdown();
    System.exit(0);
  }

  private static long mebibytes(String text) {
    return Long.parseLong(text) * 1024 * 1024;
  }
}
