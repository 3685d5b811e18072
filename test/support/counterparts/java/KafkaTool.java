// Creates topics and reads records with Apache Kafka's own client, so that what the product sends is read by another program.
//   java -cp 'libs/*' KafkaTool.java create <bootstrap> <topic> <partitions> [<setting>=<value> …]
//   java -cp 'libs/*' KafkaTool.java read <bootstrap> <topic> <file>
// `read` writes one line per record into the file: partition, offset, key, value and headers (`name:value`), separated by
// tabs, all texts in base64.
import java.io.BufferedWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class KafkaTool {
  public static void main(String[] args) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", args[1]);
    if (args[0].equals("create")) create(properties, args);
    else read(properties, args[2], Path.of(args[3]));
  }

  private static void create(Properties properties, String[] args) throws Exception {
    Map<String, String> settings = new HashMap<>();
    for (int at = 4; at < args.length; at++) {
      String[] parts = args[at].split("=", 2);
      settings.put(parts[0], parts[1]);
    }
    try (Admin admin = Admin.create(properties)) {
      NewTopic topic = new NewTopic(args[2], Integer.parseInt(args[3]), (short) 1).configs(settings);
      admin.createTopics(List.of(topic)).all().get();
      while (!isKnown(admin, topic)) Thread.sleep(20);
    }
  }

  /** Whether the broker has learnt of the topic, which comes after its creation, and leads all its partitions. */
  private static boolean isKnown(Admin admin, NewTopic topic) throws Exception {
    try {
      List<TopicPartitionInfo> partitions =
          admin.describeTopics(List.of(topic.name())).allTopicNames().get().get(topic.name()).partitions();
      return partitions.size() == topic.numPartitions() && partitions.stream().allMatch(one -> one.leader() != null);
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof UnknownTopicOrPartitionException) return false;
      throw failure;
    }
  }

  private static void read(Properties properties, String topic, Path file) throws Exception {
    properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
    properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        BufferedWriter lines = Files.newBufferedWriter(file)) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(200))) {
          lines.append(one.partition() + "\t" + one.offset());
          lines.append('\t').append(text(one.key())).append('\t').append(text(one.value()));
          for (Header header : one.headers()) {
            lines.append('\t').append(text(header.key().getBytes(StandardCharsets.UTF_8)));
            lines.append(':').append(text(header.value()));
          }
          lines.append('\n');
        }
      }
    }
  }

  private static String text(byte[] bytes) {
    return bytes == null ? "" : Base64.getEncoder().encodeToString(bytes);
  }
}
