// Customer-managed signing keys of a served data folder, with lanes and the background process: against moto for CLOUD1, and against
// fakes over TLS for CLOUD2 and CLOUD3, which the vendors' own SDKs check. Installs them into a cache folder outside the repository.
//   bun test/stress/audit-keys.ts [--only cloud1] [--rounds 3]
// A counterpart that cannot be installed (no Python, no network) prints one line and is skipped.
import { createPublicKey, verify } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { derSignature } from '../../src/audit/customer-keys/der-signature.ts'
import { openNote, parseVerifierKey } from '../../src/audit/log/signed-note.ts'
import { readAuditLogs } from '../support/audit-logs.ts'
import { childrenOf, killProcess } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { type KeySdk, signWithSdk } from '../support/counterparts/key-sdks.ts'
import { type KeyConfiguration, standInKey, startKeyServices } from '../support/counterparts/key-services.ts'
import { startMoto } from '../support/counterparts/moto.ts'
import { Checks } from './event-providers/checks.ts'
import { numberAfter, textsAfter } from './flags.ts'

const authority = join(import.meta.dirname, '../support/data/certificates/authority.pem')
const PATIENCE_MS = 300_000
/** Requests that are answered before the service of the keys answers. */
const REQUESTS_MEANWHILE = 50

type KeyAnswer = Readonly<Record<string, unknown>>

/** A served data folder with a project. */
class ServedProject {
  readonly data: string
  readonly project: string
  private readonly server: Server
  private readonly token: string

  private constructor(server: Server, data: string, token: string, project: string) {
    this.server = server
    this.data = data
    this.token = token
    this.project = project
  }

  static async start(folder: string): Promise<ServedProject> {
    const data = join(folder, 'data')
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    const server = await startServer(['--data', data], {
      VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1,localhost',
      VERDIGRAPH_AUDIT_SIGNATURE_INTERVAL: '1',
      VERDIGRAPH_LANES: '2',
      NODE_EXTRA_CA_CERTS: authority,
    })
    const nobody = new ServedProject(server, data, token, '')
    const body = { organization_id, name: 'signed', region: 'local' }
    const { id } = (await nobody.ask('POST', 'projects', body)).body
    const served = new ServedProject(server, data, token, String(id))
    await served.until(async () => (await served.ask('GET', `projects/${served.project}`)).body.ikg_status === 'ACTIVE')
    return served
  }

  async ask(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: KeyAnswer }> {
    const response = await fetch(`${this.server.url}/configs/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }

  create(
    name: string,
    configuration: object,
    query = '',
  ): Promise<{ readonly status: number; readonly body: KeyAnswer }> {
    return this.ask('POST', `audit-signings${query}`, { project_id: this.project, name, ...configuration })
  }

  async read(id: unknown): Promise<KeyAnswer> {
    return (await this.ask('GET', `audit-signings/${String(id)}`)).body
  }

  /** Makes an entry of the log. */
  async change(text: string): Promise<void> {
    await this.ask('PUT', `projects/${this.project}`, { description: text })
  }

  async isAlive(): Promise<boolean> {
    return (await fetch(`${this.server.url}/health`)).ok
  }

  async until(isTrue: () => Promise<boolean>): Promise<boolean> {
    const endMs = performance.now() + PATIENCE_MS
    while (!(await isTrue())) {
      if (performance.now() > endMs) return false
      await Bun.sleep(50)
    }
    return true
  }

  /** Kills the process that signs. Another one is started. */
  async killBackground(): Promise<void> {
    for (const { pid, words } of childrenOf(this.server.pid)) if (words.includes('background')) killProcess(pid)
  }

  async stop(): Promise<void> {
    await this.server.kill('SIGKILL')
  }
}

/** Stores a configuration, and checks that its key signs, fails, and signs again after an outage and kills of the process that signs. */
async function checkConfiguration(
  served: ServedProject,
  checks: Checks,
  name: string,
  configuration: KeyConfiguration,
  outage: { readonly begin: () => Promise<unknown>; readonly end: () => Promise<unknown>; readonly error: RegExp },
  rounds: number,
): Promise<KeyAnswer> {
  const dry = await served.create(name, configuration, '?dry_run=true')
  checks.report(`${name}: dry run`, dry.status === 200 ? null : `status ${dry.status}: ${JSON.stringify(dry.body)}`)
  const created = await served.create(name, configuration)
  checks.report(
    `${name}: stored`,
    created.status === 201 ? null : `status ${created.status}: ${JSON.stringify(created.body)}`,
  )
  const { id } = created.body
  await served.change(`${name} begins`)
  const signed = await served.until(async () => Number((await served.read(id)).signed_size) > 0)
  checks.report(`${name}: signs by itself`, signed ? null : JSON.stringify(await served.read(id)))
  for (let round = 0; round < rounds; round++) {
    const before = await served.read(id)
    await outage.begin()
    await served.change(`${name} outage ${round}`)
    const failed = await served.until(async () => (await served.read(id)).last_error !== '')
    const { last_error, is_overdue } = await served.read(id)
    const isShown = failed && outage.error.test(String(last_error)) && is_overdue === true
    checks.report(
      `${name}: outage ${round + 1} is shown: ${String(last_error)}`,
      isShown ? null : `expected ${outage.error}`,
    )
    if (round % 2 === 0) await served.killBackground()
    await served.change(`${name} gap ${round}`)
    await outage.end()
    const covers = async (): Promise<boolean> => {
      const { signed_size, last_error: error } = await served.read(id)
      return error === '' && Number(signed_size) > Number(before.signed_size)
    }
    checks.report(
      `${name}: the next signature covers the gap`,
      (await served.until(covers)) ? null : JSON.stringify(await served.read(id)),
    )
  }
  const answered = await served.ask('POST', `audit-signings/${String(id)}/sign`)
  const verifier = parseVerifierKey(String((await served.read(id)).verifier_key))
  const opened = verifier.ok ? openNote(String(answered.body.checkpoint), [verifier.value]) : verifier
  checks.report(`${name}: on request`, opened.ok ? null : `${opened.error}: ${JSON.stringify(answered)}`)
  const { problems = ['no log'], checkpoints = [] } = (await readAuditLogs(served.data)).get(served.project) ?? {}
  const valid = checkpoints.filter(({ note }) => verifier.ok && openNote(note, [verifier.value]).ok)
  checks.report(
    `${name}: ${valid.length} of ${checkpoints.length} checkpoints are signed`,
    valid.length > rounds ? null : 'too few',
  )
  checks.equal(`${name}: problems of the log`, problems, [])
  return { id, checkpoint: answered.body.checkpoint }
}

async function refusal(
  served: ServedProject,
  checks: Checks,
  what: string,
  configuration: object,
  error: RegExp,
): Promise<void> {
  const { status, body } = await served.create('refused', configuration)
  const text = JSON.stringify(body.errors)
  checks.report(
    `${what} is refused: ${text}`,
    status === 422 && error.test(text) ? null : `status ${status}, expected ${error}`,
  )
}

/** The signature of the last line of a note, and its text. */
function lastSignature(note: string): { readonly text: Buffer; readonly signature: Buffer } {
  const [text = ''] = note.split(/\n\n(?=— )/)
  const encoded = note.trimEnd().split(' ').at(-1) ?? ''
  return { text: Buffer.from(`${text}\n`), signature: Buffer.from(encoded, 'base64').subarray(4) }
}

async function checkCloud1(served: ServedProject, checks: Checks, rounds: number): Promise<void> {
  const moto = await startMoto()
  // moto signs with disabled keys too, so an outage is one of the way to it.
  let isDown = false
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (isDown) return new Response('no upstream', { status: 503 })
      const { pathname } = new URL(request.url)
      const { method, headers } = request
      return fetch(`${moto.url}${pathname}`, { method, headers, body: await request.arrayBuffer() })
    },
  })
  const url = `http://127.0.0.1:${proxy.port}`
  try {
    const createKey = async (spec: string): Promise<{ readonly id: string; readonly arn: string }> => {
      const made = await moto.call('CreateKey', { KeySpec: spec, KeyUsage: 'SIGN_VERIFY' })
      const { KeyId, Arn } = made.KeyMetadata as { KeyId: string; Arn: string }
      return { id: KeyId, arn: Arn }
    }
    const key = await createKey('ECC_NIST_P256')
    const params = { access_key_id: 'AKIDTEST', secret_access_key: 'test', endpoint: url, sts_endpoint: url }
    const provider = 'CUSTOMER_CLOUD1_KMS'
    const outage = {
      begin: async () => {
        isDown = true
      },
      end: async () => {
        isDown = false
      },
      error: /^(?:Sign|AssumeRole): HTTP status 503/,
    }
    for (const [name, more] of [
      ['cloud1', {}],
      ['cloud1-role', { role_arn: 'arn:aws:iam::123456789012:role/audit-signer', external_id: 'verdigraph-1' }],
    ] as const) {
      const configuration = {
        provider,
        key_resource: key.arn,
        kid: `customer.example/${name}`,
        auth_params: { ...params, ...more },
      }
      const { id, checkpoint } = await checkConfiguration(served, checks, name, configuration, outage, rounds)
      // The other configuration may have added its line after this one.
      const line =
        String(checkpoint)
          .split('\n')
          .find((each) => each.startsWith(`— ${configuration.kid} `)) ?? ''
      const { text } = lastSignature(String(checkpoint))
      const Signature = Buffer.from(line.split(' ')[2] ?? '', 'base64')
        .subarray(4)
        .toString('base64')
      const input = {
        KeyId: key.id,
        Message: text.toString('base64'),
        MessageType: 'RAW',
        Signature,
        SigningAlgorithm: 'ECDSA_SHA_256',
      }
      const verified = await moto.call('Verify', input)
      checks.equal(`${name}: the service verifies its signature`, verified.SignatureValid, true)
      await served.ask('DELETE', `audit-signings/${String(id)}`)
    }
    const configuration = { provider, kid: 'refused', auth_params: params }
    const rsa = await createKey('RSA_2048')
    await refusal(
      served,
      checks,
      'an RSA key',
      { ...configuration, key_resource: rsa.arn },
      /public key: it is of the type rsa/,
    )
    const p384 = await createKey('ECC_NIST_P384')
    await refusal(served, checks, 'a key on P-384', { ...configuration, key_resource: p384.arn }, /public key: .*384/)
    const missing = key.arn.replace(key.id, '00000000-0000-0000-0000-000000000000')
    await refusal(
      served,
      checks,
      'a missing key',
      { ...configuration, key_resource: missing },
      /GetPublicKey: HTTP status 400: NotFoundException/,
    )
  } finally {
    await proxy.stop(true)
    await moto.stop()
  }
}

async function checkWithSdk(
  served: ServedProject,
  checks: Checks,
  rounds: number,
  which: 'CLOUD2' | 'CLOUD3',
  sdk: KeySdk,
): Promise<void> {
  const keys = startKeyServices({ secure: true })
  try {
    const configuration = keys.configurations[which] as KeyConfiguration
    const name = which.toLowerCase()
    const outage = {
      begin: async () => {
        keys.behaviour.isDisabled = true
      },
      end: async () => {
        keys.behaviour.isDisabled = false
      },
      error: /disabled|DISABLED/,
    }
    const { id, checkpoint } = await checkConfiguration(served, checks, name, configuration, outage, rounds)
    // The vendor's SDK accepts the same service, and reads the same public key.
    const text = 'a text that the SDK signs\n'
    const { credentials_json: credentials = '', client_secret: secret = '' } = configuration.auth_params
    const input = { url: keys.url, resource: configuration.key_resource, text, credentials, secret }
    const { publicKey, signature } = await signWithSdk(sdk, input)
    const key = createPublicKey(which === 'CLOUD2' ? publicKey : { key: JSON.parse(publicKey), format: 'jwk' })
    const { public_key } = await served.read(id)
    checks.equal(
      `${name}: public key as the SDK reads it`,
      key.export({ type: 'spki', format: 'der' }).toString('base64'),
      public_key,
    )
    const raw = Buffer.from(signature, 'base64')
    const der = which === 'CLOUD2' ? raw : (derSignature(raw) ?? raw)
    checks.equal(`${name}: the SDK's signature is valid in DER`, verify('sha256', Buffer.from(text), key, der), true)
    const own = lastSignature(String(checkpoint))
    checks.equal(
      `${name}: our signature is valid for the SDK's key`,
      verify('sha256', own.text, key, own.signature),
      true,
    )
    // A slow service keeps neither other requests nor the log waiting.
    const begun = Promise.withResolvers<void>()
    const enough = Promise.withResolvers<void>()
    keys.behaviour.fault = async () => {
      begun.resolve()
      await enough.promise
      return null
    }
    let isPending = true
    const slow = served.create(`${name}-slow`, { ...configuration, kid: `${configuration.kid}-slow` }).finally(() => {
      isPending = false
      begun.resolve()
    })
    await begun.promise
    let answered = 0
    while (isPending && answered < REQUESTS_MEANWHILE) if (await served.isAlive()) answered++
    checks.report(
      `${name}: ${answered} requests are answered while a key is tested`,
      answered === REQUESTS_MEANWHILE ? null : 'too few',
    )
    enough.resolve()
    checks.equal(`${name}: the slow test succeeds`, (await slow).status, 201)
    keys.behaviour.fault = null
    await served.ask('DELETE', `audit-signings/${String((await slow).body.id)}`)
    keys.behaviour.key = standInKey('P-384')
    await refusal(served, checks, `${name}: a key on P-384`, configuration, /P-?384/)
    await served.ask('DELETE', `audit-signings/${String(id)}`)
  } finally {
    await keys.stop()
  }
}

const sections: Readonly<Record<string, (served: ServedProject, checks: Checks, rounds: number) => Promise<void>>> = {
  cloud1: checkCloud1,
  cloud2: (served, checks, rounds) => checkWithSdk(served, checks, rounds, 'CLOUD2', '@google-cloud/kms@6.3.0'),
  cloud3: (served, checks, rounds) => checkWithSdk(served, checks, rounds, 'CLOUD3', '@azure/keyvault-keys@4.10.2'),
}

if (import.meta.main) {
  const only = textsAfter('--only')
  const unknown = only.find((name) => !Object.hasOwn(sections, name))
  if (unknown !== undefined)
    throw new Error(`there is no section ${unknown}; there are ${Object.keys(sections).join(', ')}`)
  const checks = new Checks()
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-audit-keys-'))
  const served = await ServedProject.start(folder)
  try {
    for (const [name, check] of Object.entries(sections)) {
      if (only.length > 0 && !only.includes(name)) continue
      console.log(`\n${name}`)
      try {
        await check(served, checks, numberAfter('--rounds', 3))
      } catch (fault) {
        if (fault instanceof CounterpartMissing) console.log(`skipped  ${name}: ${fault.message.replaceAll('\n', ' ')}`)
        else checks.report(name, fault instanceof Error ? (fault.stack ?? fault.message) : String(fault))
      }
    }
  } finally {
    await served.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(`\n${checks.passed} passed, ${checks.failures.length} failed`)
  process.exit(checks.failures.length === 0 ? 0 : 1)
}
