// The command `health`: asks a running service whether it is alive and ready, for the health checks of containers and for scripts.
import type { Settings } from '../../settings.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printError, printJson, printLine } from '../output/print.ts'
import { sendRequest } from '../target/send-request.ts'
import { addressOf } from '../target/service-client.ts'
import { checkedUrl } from '../target/target-place.ts'

/** The paths that are asked, in order, and what status 200 of each means. */
const checks = [
  { name: 'alive', path: '/health' },
  { name: 'ready', path: '/ready' },
] as const

/** The runtime sends requests through the proxy that they name. */
const proxyVariables = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY']

/** Which service is asked, and how long it may take. */
interface HealthOptions {
  /** The base URL; null: where the settings say that the service listens. */
  readonly url: string | null
  /** For each of the two requests. */
  readonly timeoutMs: number
  readonly json: boolean
}

interface HealthCheck {
  readonly name: string
  readonly url: string
  readonly ok: boolean
  /** Null: no answer. */
  readonly status: number | null
  /** Why it is not ok; null: it is. */
  readonly reason: string | null
}

/** Runs `health`. Prints the result, and rejects with CliError if the service is not alive and ready. */
export async function checkHealth(settings: Settings, { url, timeoutMs, json }: HealthOptions): Promise<void> {
  if (url === null && settings.port === 0)
    throw new UsageError(['the settings have port 0, which is any port: pass --port or --url'])
  const base = url === null ? addressOf(settings) : checkedUrl(url)
  // The service of the settings is on this machine.
  if (url === null) for (const name of proxyVariables) delete process.env[name]
  const done: HealthCheck[] = []
  for (const { name, path } of checks) {
    // The certificate is for the public name of the service, not for the address of this machine. Nothing secret is sent.
    done.push(await check(name, `${base}${path}`, timeoutMs, url === null))
  }
  const isHealthy = done.every(({ ok }) => ok)
  if (json) printJson({ healthy: isHealthy, url: base, checks: done })
  else if (isHealthy) printLine(`${base} is alive and ready`)
  else for (const { ok, url, reason } of done) if (!ok) printError(`${url}: ${reason}`)
  if (!isHealthy) throw new CliError([], exitCodes.failure.code)
}

async function check(name: string, url: string, timeoutMs: number, anyCertificate: boolean): Promise<HealthCheck> {
  try {
    const response = await sendRequest(url, { timeMs: timeoutMs, anyCertificate })
    const { status } = response
    const reason = status === 200 ? null : `status ${status}${messageOf(await response.text())}`
    return { name, url, ok: reason === null, status, reason }
  } catch (failure) {
    const { name: kind, message } = failure as Error
    const reason = kind === 'TimeoutError' ? `no answer within ${timeoutMs} ms` : message
    return { name, url, ok: false, status: null, reason }
  }
}

/** The message of an error response, after a colon; empty: it has none. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? `: ${message}` : ''
  } catch {
    return ''
  }
}
