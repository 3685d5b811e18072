// Apache ActiveMQ Artemis as one process, with AMQP 1.0 over TCP and TLS.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BrokerProcess, freePorts } from './broker-process.ts'
import { installed, mavenLibraries, requireJava } from './install.ts'

const VERSION = '2.44.0'
const certificates = join(import.meta.dirname, '..', 'data', 'certificates')

/** A running AMQP broker. */
export interface AmqpBroker {
  readonly plain: number
  readonly tls: number
  readonly username: string
  readonly password: string
  start(): Promise<void>
  /** SIGKILL; the data stay. */
  kill(): void
}

/** Prepares a broker in `folder`, on free ports. Throws `CounterpartMissing` without Java or Maven. */
export async function prepareArtemis(folder: string): Promise<AmqpBroker> {
  requireJava()
  const libraries = await installed(`artemis-${VERSION}`, (target) =>
    mavenLibraries(target, [
      `org.apache.activemq:artemis-server:${VERSION}`,
      `org.apache.activemq:artemis-amqp-protocol:${VERSION}`,
      'org.slf4j:slf4j-nop:2.0.17',
    ]),
  )
  const [plain, tls] = (await freePorts(2)) as [number, number]
  mkdirSync(folder, { recursive: true })
  const keystore = join(folder, 'keystore.pem')
  const read = (name: string): string => readFileSync(join(certificates, name), 'utf8')
  writeFileSync(keystore, `${read('localhost.key')}${read('localhost.pem')}`, { mode: 0o600 })
  const [username, password] = ['svc', 'secret;of=svc/+']
  const broker = new BrokerProcess(
    [
      'java',
      '-Xms32m',
      '-Xmx192m',
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      '-cp',
      join(libraries, 'libs', '*'),
      join(import.meta.dirname, 'java', 'ArtemisMain.java'),
      folder,
      String(plain),
      String(tls),
      keystore,
      username,
      password,
    ],
    [plain, tls],
  )
  return { plain, tls, username, password, start: () => broker.start(), kill: () => broker.kill() }
}
