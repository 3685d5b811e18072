// RabbitMQ from Debian as one process, with its plugin for AMQP 1.0.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AmqpBroker } from './artemis.ts'
import { BrokerProcess, freePorts } from './broker-process.ts'
import { counterpartMissing, hasCommand } from './install.ts'

const SERVER = '/usr/lib/rabbitmq/bin/rabbitmq-server'
const certificates = join(import.meta.dirname, '..', 'data', 'certificates')

/** Prepares a broker in `folder`, on free ports. Throws `CounterpartMissing` if RabbitMQ is not installed. */
export async function prepareRabbitMq(folder: string): Promise<AmqpBroker> {
  if (!(await Bun.file(SERVER).exists()) || !hasCommand('epmd')) {
    throw counterpartMissing('there is no RabbitMQ (Debian package rabbitmq-server)')
  }
  const [plain, tls, distribution, names] = (await freePorts(4)) as [number, number, number, number]
  mkdirSync(folder, { recursive: true })
  const [username, password] = ['svc', 'secret-of-svc']
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const config = [
    `listeners.tcp.1 = 127.0.0.1:${plain}`,
    `listeners.ssl.1 = 127.0.0.1:${tls}`,
    `ssl_options.certfile = ${join(certificates, 'localhost.pem')}`,
    `ssl_options.keyfile = ${join(certificates, 'localhost.key')}`,
    'ssl_options.verify = verify_none',
    `default_user = ${username}`,
    `default_pass = ${password}`,
  ]
  const environment = {
    HOME: folder,
    ERL_EPMD_PORT: String(names),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `verdigraph-${plain}@localhost`,
    RABBITMQ_CONFIG_FILE: file('rabbitmq.conf', `${config.join('\n')}\n`),
    RABBITMQ_CONF_ENV_FILE: file('rabbitmq-env.conf', ''),
    RABBITMQ_ENABLED_PLUGINS_FILE: file('enabled_plugins', '[rabbitmq_amqp1_0].\n'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
  }
  // Without a name server on this port, the broker would start one that outlives it.
  const nameServer = new BrokerProcess(['epmd', '-port', String(names)], [names], environment)
  const broker = new BrokerProcess([SERVER], [plain, tls], environment)
  return {
    plain,
    tls,
    username,
    password,
    async start() {
      if (!nameServer.isRunning()) await nameServer.start()
      await broker.start()
    },
    kill() {
      broker.kill()
      nameServer.kill()
    },
  }
}
