// Neo4j Community embedded, with Bolt on 127.0.0.1 and no password.
//   java -cp 'libs/*' Neo4jMain.java <folder> <port>
// It ends when its standard input is closed, so that it does not outlive the process that started it.
import java.nio.file.Path;
import java.time.Duration;
import org.neo4j.configuration.GraphDatabaseInternalSettings;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.harness.Neo4j;
import org.neo4j.harness.Neo4jBuilders;

public class Neo4jMain {
  public static void main(String[] args) throws Exception {
    Neo4j neo4j =
        Neo4jBuilders.newInProcessBuilder(Path.of(args[0]))
            .withDisabledServer()
            .withConfig(BoltConnector.enabled, true)
            .withConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", Integer.parseInt(args[1])))
            .withConfig(HttpConnector.enabled, false)
            .withConfig(GraphDatabaseSettings.auth_enabled, false)
            .withConfig(GraphDatabaseSettings.transaction_timeout, Duration.ofSeconds(60))
            .withConfig(GraphDatabaseSettings.memory_transaction_max_size, 64L * 1024 * 1024)
            .withConfig(GraphDatabaseSettings.pagecache_memory, 32L * 1024 * 1024)
            .withConfig(GraphDatabaseSettings.keep_logical_logs, "keep_none")
            .build();
    System.out.println("listening " + neo4j.boltURI());
    while (System.in.read() >= 0) {}
    neo4j.close();
    System.exit(0);
  }
}
