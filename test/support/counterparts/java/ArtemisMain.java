// Apache ActiveMQ Artemis embedded, with AMQP 1.0 only, persistent and with one user.
//   java -cp 'libs/*' ArtemisMain.java <folder> <port> <TLS port> <keystore> <user> <password>
// Queues: q1, killed, hot, full (at most 5 messages); topic: topic1 with the subscriptions sub1 and sub2.
import java.util.HashSet;
import java.util.Set;
import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.config.impl.SecurityConfiguration;
import org.apache.activemq.artemis.core.security.Role;
import org.apache.activemq.artemis.core.server.ActiveMQServer;
import org.apache.activemq.artemis.core.server.JournalType;
import org.apache.activemq.artemis.core.server.impl.ActiveMQServerImpl;
import org.apache.activemq.artemis.core.settings.impl.AddressFullMessagePolicy;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;
import org.apache.activemq.artemis.spi.core.security.ActiveMQJAASSecurityManager;
import org.apache.activemq.artemis.spi.core.security.jaas.InVMLoginModule;

public class ArtemisMain {
  public static void main(String[] args) throws Exception {
    String folder = args[0];
    ConfigurationImpl configuration = new ConfigurationImpl();
    configuration.setPersistenceEnabled(true);
    configuration.setJournalType(JournalType.NIO);
    configuration.setBindingsDirectory(folder + "/bindings");
    configuration.setJournalDirectory(folder + "/journal");
    configuration.setLargeMessagesDirectory(folder + "/large");
    configuration.setPagingDirectory(folder + "/paging");
    configuration.addAcceptorConfiguration("plain", "tcp://127.0.0.1:" + args[1] + "?protocols=AMQP");
    configuration.addAcceptorConfiguration(
        "tls",
        "tcp://127.0.0.1:" + args[2] + "?protocols=AMQP;sslEnabled=true;keyStoreType=PEM;keyStorePath=" + args[3]);
    Set<Role> roles = new HashSet<>();
    roles.add(new Role("admin", true, true, true, true, true, true, true, true, true, true, false, false));
    configuration.putSecurityRoles("#", roles);
    AddressSettings full = new AddressSettings();
    full.setAddressFullMessagePolicy(AddressFullMessagePolicy.FAIL);
    full.setMaxSizeMessages(5);
    configuration.addAddressSetting("full", full);
    SecurityConfiguration security = new SecurityConfiguration();
    security.addUser(args[4], args[5]);
    security.addRole(args[4], "admin");
    ActiveMQServer server =
        new ActiveMQServerImpl(configuration, new ActiveMQJAASSecurityManager(InVMLoginModule.class.getName(), security));
    server.start();
    for (String name : new String[] {"q1", "killed", "full", "hot"}) queue(server, name, name, RoutingType.ANYCAST);
    for (String name : new String[] {"sub1", "sub2"}) queue(server, name, "topic1", RoutingType.MULTICAST);
    Thread.currentThread().join();
  }

  private static void queue(ActiveMQServer server, String name, String address, RoutingType type) throws Exception {
    if (server.locateQueue(name) == null) {
      server.createQueue(QueueConfiguration.of(name).setAddress(address).setRoutingType(type).setDurable(true));
    }
  }
}
