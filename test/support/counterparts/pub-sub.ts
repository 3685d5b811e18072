// Google's fake of Pub/Sub, built from the Go module proxy.
import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CounterpartMissing, counterpartMissing, download, hasCommand, installed, run } from './install.ts'

const VERSION = 'v1.49.0'

/** A message as the fake stored it. */
export interface PubSubMessage {
  readonly data: string
  readonly attributes: Readonly<Record<string, string>>
  readonly orderingKey: string
}

/** A running fake. */
export interface PubSubFake {
  readonly url: string
  /** The key file of a service account that it accepts. */
  readonly credentials: string
  messages(): Promise<PubSubMessage[]>
  stop(): void
}

/** Starts the fake with topics (`projects/p/topics/t`). Throws `CounterpartMissing` without Go 1.21. */
export async function startPubSub(folder: string, topics: readonly string[]): Promise<PubSubFake> {
  const built = await installed(`pubsub-${VERSION}`, async (target) => {
    if (!hasCommand('go')) throw counterpartMissing('there is no go (Debian package golang-go)')
    // From 1.21 on, Go downloads the toolchain that a module requires.
    const found = (await run(['go', 'env', 'GOVERSION'], target)).trim()
    const [, minor = '0'] = /^go1\.(\d+)/.exec(found) ?? []
    if (Number(minor) < 21) throw new CounterpartMissing(`${found} is too old; 1.21 is required`)
    copyFileSync(join(import.meta.dirname, 'go', 'pubsub.go'), join(target, 'main.go'))
    writeFileSync(
      join(target, 'go.mod'),
      `module pubsubfake\n\ngo 1.23\n\nrequire cloud.google.com/go/pubsub ${VERSION}\n`,
    )
    await download(['go', 'mod', 'tidy'], target)
    await run(['go', 'build', '-p', '1', '-o', 'pubsubfake', '.'], target)
  })
  mkdirSync(folder, { recursive: true })
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  writeFileSync(join(folder, 'public.pem'), publicKey)
  const child = Bun.spawn(['nice', '-n', '10', join(built, 'pubsubfake'), folder, ...topics], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  const ready = join(folder, 'ready')
  for (let tries = 0; !existsSync(ready); tries++) {
    if (child.exitCode !== null || tries > 200) throw new Error(`the Pub/Sub fake did not start (${child.exitCode})`)
    await Bun.sleep(100)
  }
  const url = readFileSync(ready, 'utf8')
  return {
    url,
    credentials: JSON.stringify({
      type: 'service_account',
      project_id: 'project',
      private_key_id: 'key-1',
      private_key: privateKey,
      client_email: 'publisher@project.iam.gserviceaccount.com',
      token_uri: 'https://oauth2.googleapis.com/token',
    }),
    messages: async () => (await (await fetch(`${url}/messages`)).json()) as PubSubMessage[],
    stop: () => child.kill('SIGKILL'),
  }
}
