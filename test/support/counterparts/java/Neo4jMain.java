// Neo4j Community embedded, with Bolt on 127.0.0.1, without passwords unless asked for.
//   java -cp '<folder of classes>:libs/*' Neo4jMain <folder> <port> <MiB of the page cache> <MiB of a transaction, 0: no limit> [auth]
// It ends when its standard input is closed, so that it does not outlive the process that started it.
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.QueryExecutionException;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;
import org.neo4j.harness.Neo4j;
import org.neo4j.harness.Neo4jBuilders;
import org.neo4j.kernel.api.exceptions.Status;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

public class Neo4jMain {
  public static void main(String[] args) throws Exception {
    Neo4j neo4j =
        Neo4jBuilders.newInProcessBuilder(Path.of(args[0]))
            .withDisabledServer()
            .withProcedure(Neo4jMain.class)
            .withConfig(BoltConnector.enabled, true)
            .withConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", Integer.parseInt(args[1])))
            .withConfig(HttpConnector.enabled, false)
            .withConfig(GraphDatabaseSettings.auth_enabled, args.length > 4)
            // The procedure begins transactions of its own.
            .withConfig(GraphDatabaseSettings.procedure_unrestricted, List.of("judge.*"))
            .withConfig(GraphDatabaseSettings.transaction_timeout, Duration.ZERO)
            .withConfig(GraphDatabaseSettings.memory_transaction_max_size, mebibytes(args[3]))
            .withConfig(GraphDatabaseSettings.pagecache_memory, mebibytes(args[2]))
            .withConfig(GraphDatabaseSettings.keep_logical_logs, "keep_none")
            .build();
    System.out.println("listening " + neo4j.boltURI());
    while (System.in.read() >= 0) {}
    neo4j.close();
    System.exit(0);
  }

  private static long mebibytes(String text) {
    return Long.parseLong(text) * 1024 * 1024;
  }

  @Context public GraphDatabaseService database;

  /** The answer to one query: columns and rows, or the code and the message of an error. */
  public static class Answer {
    public List<String> columns = List.of();
    public List<Object> rows = List.of();
    public String code = "";
    public String message = "";
  }

  /**
   * Answers queries on a graph that is never committed. Over Bolt a query would be parsed and checked twice; here it is once. An error
   * ends a transaction: the graph is then written anew.
   */
  @Procedure(name = "judge.answers", mode = Mode.SCHEMA)
  public Stream<Answer> answers(
      @Name("nodes") List<Map<String, Object>> nodes,
      @Name("relationships") List<Map<String, Object>> relationships,
      @Name("queries") List<Map<String, Object>> queries) {
    List<Answer> answers = new ArrayList<>();
    WrittenGraph graph = null;
    try {
      for (Map<String, Object> query : queries) {
        if (graph != null && graph.isUsedUp()) {
          graph.close();
          graph = null;
        }
        if (graph == null) graph = new WrittenGraph(database, nodes, relationships);
        answers.add(graph.answer(query));
      }
    } finally {
      if (graph != null) graph.close();
    }
    return answers.stream();
  }

  /** A graph within a transaction. Answers name elements by their numbers, which are their positions in the lists. */
  private static final class WrittenGraph implements AutoCloseable {
    private static final long TRANSACTION_SECONDS_MAX = 30;
    private static final long FURTHER_QUERY_SECONDS_MAX = 5;
    private static final String NODES =
        "UNWIND $all AS one CREATE (n:$(one.labels)) SET n = one.properties RETURN one.index AS index, elementId(n) AS id";
    private static final String RELATIONSHIPS =
        "UNWIND $all AS one MATCH (s) WHERE elementId(s) = one.source MATCH (t) WHERE elementId(t) = one.target"
            + " CREATE (s)-[r:$(one.type)]->(t) SET r = one.properties RETURN one.index AS index, elementId(r) AS id";

    private final Transaction transaction;
    private final long began = System.nanoTime();
    private final Map<String, Object> numbers = new HashMap<>();
    private boolean hasFailed = false;

    WrittenGraph(
        GraphDatabaseService database, List<Map<String, Object>> nodes, List<Map<String, Object>> relationships) {
      transaction = database.beginTx(TRANSACTION_SECONDS_MAX, TimeUnit.SECONDS);
      Map<Object, String> ids = write(NODES, nodes);
      List<Object> between = new ArrayList<>();
      for (Map<String, Object> relationship : relationships) {
        Map<String, Object> one = new HashMap<>(relationship);
        one.replaceAll((key, value) -> key.equals("source") || key.equals("target") ? ids.get(value) : value);
        between.add(one);
      }
      write(RELATIONSHIPS, between);
    }

    /** Returns the ids by the numbers. */
    private Map<Object, String> write(String query, List<?> all) {
      Map<Object, String> ids = new HashMap<>();
      try (Result result = transaction.execute(query, Map.of("all", all))) {
        result.stream().forEach(row -> ids.put(row.get("index"), (String) row.get("id")));
      }
      ids.forEach((number, id) -> numbers.put(id, number));
      return ids;
    }

    /** A further query needs a new transaction: it failed, or its time is short. */
    boolean isUsedUp() {
      return hasFailed || System.nanoTime() - began > TimeUnit.SECONDS.toNanos(FURTHER_QUERY_SECONDS_MAX);
    }

    @SuppressWarnings("unchecked")
    Answer answer(Map<String, Object> query) {
      Answer answer = new Answer();
      try (Result result =
          transaction.execute((String) query.get("text"), (Map<String, Object>) query.get("parameters"))) {
        answer.columns = result.columns();
        answer.rows = new ArrayList<>();
        while (result.hasNext()) {
          Map<String, Object> row = result.next();
          List<Object> cells = new ArrayList<>();
          for (String column : answer.columns) cells.add(plain(row.get(column)));
          answer.rows.add(cells);
        }
      } catch (RuntimeException fault) {
        hasFailed = true;
        answer.rows = List.of();
        answer.code = codeOf(fault);
        answer.message = String.valueOf(fault.getMessage());
      }
      return answer;
    }

    private static String codeOf(Throwable fault) {
      if (fault instanceof QueryExecutionException of) return of.getStatusCode();
      if (fault instanceof Status.HasStatus of) return of.status().code().serialize();
      return "Neo.DatabaseError.Statement.ExecutionFailed";
    }

    /** Elements of the graph do not outlive the transaction: their numbers do, in maps with one key. */
    private Object plain(Object value) {
      if (value instanceof Node node) return Map.of("\0node", numbers.get(node.getElementId()));
      if (value instanceof Relationship relationship)
        return Map.of("\0relationship", numbers.get(relationship.getElementId()));
      if (value instanceof org.neo4j.graphdb.Path path) {
        List<Object> elements = new ArrayList<>();
        path.forEach(element -> elements.add(plain(element)));
        return Map.of("\0path", elements);
      }
      if (value instanceof Map<?, ?> map) {
        Map<Object, Object> plain = new HashMap<>();
        map.forEach((key, item) -> plain.put(key, plain(item)));
        return plain;
      }
      if (value instanceof List<?> list) {
        List<Object> plain = new ArrayList<>();
        list.forEach(item -> plain.add(plain(item)));
        return plain;
      }
      return value;
    }

    @Override
    public void close() {
      transaction.close();
    }
  }
}
