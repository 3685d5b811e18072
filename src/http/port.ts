// Ports of the HTTP server: addresses, and reserving a port before several processes share it.

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  /** `http://host:port` or `https://host:port`. */
  readonly url: string
}

/** Builds the address of a server. `secure`: with TLS. */
export function listenAddress(host: string, port: number, secure: boolean): ListenAddress {
  return { host, port, url: `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}` }
}

/** A port that is reserved until `release` is called. */
export interface ReservedPort extends ListenAddress {
  release(): void
}

/**
 * Reserves a port for processes that will share it. Clients that connect before `release` get 503.
 * Throws the error of the system if another process uses the port, shared or not.
 */
export function reservePort(host: string, port: number, secure: boolean): ReservedPort {
  const server = Bun.serve({
    hostname: host,
    port,
    reusePort: false,
    development: false,
    fetch: () => new Response(null, { status: 503, headers: { connection: 'close' } }),
  })
  return {
    ...listenAddress(host, server.port ?? port, secure),
    release: () => void server.stop(true),
  }
}

/** Returns the number of a port that no process uses at present; `port` 0 picks one. Throws as `reservePort` does. */
export function findFreePort(host: string, port: number): number {
  const reserved = reservePort(host, port, true)
  reserved.release()
  return reserved.port
}
