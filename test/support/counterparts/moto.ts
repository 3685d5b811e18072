// moto, an independent implementation of CLOUD1's key and token services, installed by pip into the cache folder. It does not check
// signatures of requests; the fake of key-services.ts does.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { freePorts } from './broker-process.ts'
import { counterpartMissing, download, hasCommand, installed } from './install.ts'

const VERSION = '5.2.5'
const REGION = 'eu-west-1'
const START_MS = 120_000

/** A running server. */
export interface MotoServer {
  /** `http://127.0.0.1:…`. */
  readonly url: string
  readonly region: string
  /** Calls the key service; `operation`: such as `CreateKey`. Throws if it answers with an error. */
  call(operation: string, input: object): Promise<Readonly<Record<string, unknown>>>
  stop(): Promise<void>
}

/** Starts moto on a free port. Throws `CounterpartMissing` without Python, or if it cannot be installed. */
export async function startMoto(): Promise<MotoServer> {
  if (!hasCommand('python3')) throw counterpartMissing('there is no python3')
  const folder = await installed(`moto-${VERSION}`, async (target) => {
    await download(
      ['python3', '-m', 'pip', 'install', '--quiet', '--target', join(target, 'packages'), `moto[server]==${VERSION}`],
      target,
    )
    // Scripts that pip installs have the path of a folder that is renamed.
    writeFileSync(join(target, 'serve.py'), 'from moto.server import main\nmain()\n')
  })
  const [port] = (await freePorts(1)) as [number]
  const child = Bun.spawn(['nice', '-n', '5', 'python3', 'serve.py', '-H', '127.0.0.1', '-p', String(port)], {
    cwd: folder,
    env: { ...process.env, PYTHONPATH: join(folder, 'packages') },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const url = `http://127.0.0.1:${port}`
  const endMs = performance.now() + START_MS
  while (!(await isReady(url))) {
    if (child.exitCode !== null || performance.now() > endMs) {
      child.kill('SIGKILL')
      throw counterpartMissing(`moto does not start (exit code ${child.exitCode})`)
    }
    await Bun.sleep(100)
  }
  const client = new AwsClient({ accessKeyId: 'AKIDTEST', secretAccessKey: 'test', region: REGION, service: 'kms' })
  return {
    url,
    region: REGION,
    async call(operation, input) {
      const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${operation}` }
      const response = await client.fetch(`${url}/`, { method: 'POST', headers, body: JSON.stringify(input) })
      const text = await response.text()
      if (!response.ok) throw new Error(`${operation} answered ${response.status}: ${text}`)
      return text === '' ? {} : JSON.parse(text)
    },
    async stop() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/moto-api/data.json`)).ok
  } catch {
    return false
  }
}
