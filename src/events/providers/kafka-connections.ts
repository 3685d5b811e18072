// Connections of the Kafka client to checked addresses only. The client connects to the brokers of the configuration and
// to every broker that their metadata advertises; all of them pass through here
// (docs/decisions/0016-outgoing-requests.md).
import type { Broker, Connection, ConnectionOptions, ConnectionPool, Producer } from '@platformatic/kafka'
import ipaddr from 'ipaddr.js'
import type { Destinations } from '../../upstream/destinations.ts'

/** The client library, which is loaded late. */
export type KafkaClient = typeof import('@platformatic/kafka')
type ConnectionCallback = (error: Error | null, connection?: Connection) => void
type AnyProducer = Pick<Producer<Buffer, Buffer, Buffer, Buffer>, 'connections'>

/** The connections of one producer, by the name that the broker's certificate is checked for. */
export class KafkaConnections {
  private readonly kafka: KafkaClient
  private readonly clientId: string
  private readonly options: ConnectionOptions
  private readonly destinations: Destinations
  private readonly pools = new Map<string, ConnectionPool>()
  /** The address of each connected broker, by `host:port`. */
  private readonly connected = new Map<string, string>()
  private isClosed = false

  constructor(kafka: KafkaClient, clientId: string, options: ConnectionOptions, destinations: Destinations) {
    this.kafka = kafka
    this.clientId = clientId
    this.options = options
    this.destinations = destinations
  }

  /** Makes the producer use these connections. It must not have connected yet. */
  attachTo(producer: AnyProducer): void {
    const get = (broker: Broker, callback: ConnectionCallback): void => {
      this.connect(broker).then(
        (connection) => callback(null, connection),
        (fault) => callback(fault as Error),
      )
    }
    // `getFirstAvailable`, the other entry of the pool, calls `get`.
    producer.connections.get = get as ConnectionPool['get']
  }

  /** Ends all connections at once. A socket whose peer does not read would never end otherwise. */
  destroy(): void {
    this.isClosed = true
    for (const pool of this.pools.values()) {
      for (const [, connection] of pool) connection.socket?.destroy()
      pool.close().catch(() => undefined)
    }
  }

  private async connect(broker: Broker): Promise<Connection> {
    const { NetworkError } = this.kafka
    // The metadata can name a leader that is not in its list of brokers.
    if (broker?.host == null) {
      throw new NetworkError('no broker leads the partition', { canRetry: true, hasStaleMetadata: true })
    }
    const host = broker.host.toLowerCase()
    const pool = this.poolFor(host)
    const key = `${host}:${broker.port}`
    const known = this.connected.get(key)
    if (known !== undefined) {
      const connection = pool.getEstablishedConnection({ host: known, port: broker.port })
      if (connection?.isConnected()) return connection
      this.connected.delete(key)
    }
    const isSecure = this.options.tls !== undefined
    const refusal = this.destinations.hostError(host, isSecure)
    if (refusal !== null) throw new NetworkError(`broker ${key}: ${refusal}`, { canRetry: false })
    const addresses = await this.destinations.addressesOf(host, isSecure)
    if (!addresses.ok) {
      const { kind, message } = addresses.error
      throw new NetworkError(`broker ${key}: ${message}`, { canRetry: kind !== 'forbidden' })
    }
    let failure: unknown
    for (const address of addresses.value) {
      if (this.isClosed) break
      try {
        const opening = pool.get({ host: address, port: broker.port })
        // An error after the first one has no listener of the client and would end the process.
        pool.getEstablishedConnection({ host: address, port: broker.port })?.socket?.on('error', () => undefined)
        const connection = await opening
        this.connected.set(key, address)
        return connection
      } catch (fault) {
        failure = fault
      }
    }
    // Another attempt with the same credentials or certificate ends the same way.
    const canRetry = !hasPermanentCause(failure)
    throw new NetworkError(`broker ${key}`, {
      canRetry,
      cause: failure instanceof Error ? failure : new Error('closed'),
    })
  }

  /** `tlsServerName: true` sends IP addresses too, which the runtime refuses with an uncaught exception. */
  private poolFor(host: string): ConnectionPool {
    const serverName = ipaddr.isValid(host) ? '' : host
    const existing = this.pools.get(serverName)
    if (existing !== undefined) return existing
    const pool = new this.kafka.ConnectionPool(this.clientId, {
      ...this.options,
      ...(serverName === '' || this.options.tls === undefined ? {} : { tlsServerName: serverName }),
    })
    pool.on('connecting', ({ connection }) => connection.on('error', () => undefined))
    this.pools.set(serverName, pool)
    return pool
  }
}

/** All causes of a fault of the Kafka client, from the most general one. */
export function causesOf(fault: unknown): Error[] {
  const found: Error[] = []
  const visit = (one: unknown): void => {
    if (!(one instanceof Error) || found.length > 50 || found.includes(one)) return
    found.push(one)
    visit(one.cause)
    if (one instanceof AggregateError) one.errors.forEach(visit)
  }
  visit(fault)
  return found
}

function hasPermanentCause(fault: unknown): boolean {
  return causesOf(fault).some(
    (cause) =>
      'code' in cause &&
      typeof cause.code === 'string' &&
      /^(?:PLT_KFK_AUTHENTICATION|PLT_KFK_USER|ERR_TLS_CERT_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/.test(cause.code),
  )
}
