// A running service with lanes and its background process, as auditors use it: the commands, an independent verifier in Go that reads the
// tiles by URL, and exports that are verified without the service.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Finished,
  killAll,
  ownEnvironment,
  runCommand,
  type Server,
  startServer,
} from '../../support/cli-process.ts'
import { buildAuditVerifier, buildProofVerifier } from '../../support/counterparts/audit-verifier.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { createFleet } from '../../support/fleet.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** More than two bundles. */
const NODES = 600
const NODES_PER_REQUEST = 200

let data: string
let server: Server
let projectId: string
let key: string
let vkey: string
let tree: { readonly url: string; readonly origin: string; readonly size: number }
const parameters = { amount: 12, purpose: 'a ride' }

beforeAll(async () => {
  data = join(temporaryFolder(), 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  server = await startServer(['--data', data], { VERDIGRAPH_AUDIT_DECISIONS: 'all' })
  const fleet = await createFleet(server, token, organization_id, ['Capture', 'Audit', 'Authorization'])
  projectId = fleet.projectId
  key = fleet.key
  for (let at = 0; at < NODES; at += NODES_PER_REQUEST) {
    const nodes = Array.from({ length: NODES_PER_REQUEST }, (_, i) => ({ type: 'Car', external_id: `car${at + i}` }))
    expect((await post('/capture/v1/nodes', { nodes })).status).toBe(200)
  }
  const decided = await post('/access/v1/evaluation', {
    subject: { type: 'Person', id: 'ann' },
    action: { name: 'drive' },
    resource: { type: 'Car', id: 'car1' },
    context: { input_params: parameters },
  })
  expect([decided.status, await decided.text()]).toEqual([200, expect.anything()])
  // Decisions and captures are recorded in different places, so either of them may be sealed first.
  const limit = performance.now() + 60_000
  const last = { type: 'svc.audit.capture.*', resource: `car${NODES - 1}` }
  for (const members of [{ type: 'svc.audit.authorization.*' }, last]) {
    for (;;) {
      const found = await get(`/audit/v1/records?${query(members)}`)
      if ((found.items as readonly unknown[]).length > 0) break
      if (performance.now() > limit) throw new Error(`the records ${JSON.stringify(members)} were not sealed`)
      await Bun.sleep(100)
    }
  }
  const { generations } = await get(`/audit/v1/tlog?${query({})}`)
  tree = (generations as readonly (typeof tree)[]).at(-1) as typeof tree
  const printed = await audit('keys', '--project', projectId)
  expect([printed.exitCode, printed.stderr]).toEqual([0, ''])
  vkey = printed.stdout.trim()
})
afterAll(killAll)

function query(members: Readonly<Record<string, string>>): URLSearchParams {
  return new URLSearchParams({ project_id: projectId, ...members })
}

async function post(path: string, body: object): Promise<Response> {
  const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
  return fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function get(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}${path}`, { headers: { 'x-svc-clientkey': key } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

async function orNull(build: () => Promise<string>): Promise<string | null> {
  try {
    return await build()
  } catch (fault) {
    if (!(fault instanceof CounterpartMissing)) throw fault
    console.log(`skipped: ${fault.message}`)
    return null
  }
}

/** A command of the group, as an auditor with the key of an agent. */
const audit = (verb: string, ...args: string[]): Promise<Finished> =>
  runCommand(['audit', verb, ...args, ...(verb === 'verify' ? [] : ['--url', server.url])], { VERDIGRAPH_TOKEN: key })

describe('a served audit log', () => {
  it('is verified by its URL', async () => {
    const { exitCode, stdout, stderr } = await audit('verify', `${server.url}${tree.url}`, '--key', vkey, '--json')
    expect([exitCode, stderr]).toEqual([0, ''])
    const verdict = JSON.parse(stdout)
    expect(verdict).toMatchObject({ sound: true, origin: tree.origin })
    expect(verdict.entries).toBeGreaterThan(NODES)
  })

  it('is not called unsound if the token is wrong, or the project is another one', async () => {
    const url = `${server.url}${tree.url}`
    const refused = await runCommand(['audit', 'verify', url, '--key', vkey], { VERDIGRAPH_TOKEN: 'nonsense' })
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('401')])
    const other = url.replace(projectId.slice('gid:'.length), '01J00000000000000000000000')
    expect((await audit('verify', other, '--key', vkey)).exitCode).toBe(2)
  })

  it('is verified by a program in Go that reads the URL', async () => {
    const verifier = await orNull(buildAuditVerifier)
    if (verifier === null) return
    const older = join(temporaryFolder(), 'older')
    const { items } = await get(`/audit/v1/checkpoints?${query({})}`)
    writeFileSync(older, (items as readonly { note: string }[]).at(-1)?.note ?? '')
    const child = Bun.spawn([verifier, `${server.url}${tree.url}`, tree.origin, vkey, older], {
      env: { ...ownEnvironment, AUDIT_TOKEN: key },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    console.log(output)
    expect([code, errors]).toEqual([0, ''])
    expect(output).toMatch(/entries: (\d+) of \1 read, 0 bad/)
    expect(output).toContain('consistency: continues the checkpoint of')
  })

  it('has inclusion proofs that the program of the page for auditors verifies', async () => {
    const prover = await orNull(buildProofVerifier)
    if (prover === null) return
    const prove = async (answer: object): Promise<readonly [number, string]> => {
      const child = Bun.spawn([prover, vkey, tree.origin], {
        stdin: new Blob([JSON.stringify(answer)]),
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
      return [code, output + errors]
    }
    for (const index of [0, 255, 256, 300, 511]) {
      const answer = await get(`/audit/v1/records/${index}/proof?${query({})}`)
      expect(await prove(answer)).toEqual([0, expect.stringContaining(`entry ${index} is in the signed log`)])
      const entry = String(answer.entry).replace('"specversion"', '"Specversion"')
      expect((await prove({ ...answer, entry }))[0]).toBe(1)
      expect((await prove({ ...answer, index: index + 1 }))[0]).toBe(1)
    }
  })

  it('is exported to a file that verifies without the service, and not after any change', async () => {
    const file = join(temporaryFolder(), 'log.ndjson')
    const exported = await audit('export', '--project', projectId, '--out', file)
    expect([exported.exitCode, exported.stderr]).toEqual([0, ''])
    const verified = await runCommand(['audit', 'verify', file, '--key', vkey, '--json'])
    expect(verified.exitCode).toBe(0)
    const verdict = JSON.parse(verified.stdout)
    expect(verdict).toMatchObject({ sound: true, isSelection: false, from: 0 })
    expect([verdict.entries > NODES, verdict.batches > 2]).toEqual([true, true])
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const changes: Readonly<Record<string, readonly string[]>> = {
      changed: lines.map((line) => line.replace('car17', 'car99')),
      removed: lines.toSpliced(40, 1),
      inserted: lines.toSpliced(40, 0, lines[39] as string),
      unsigned: [
        (lines[0] as string).replace(/\\n(\d+)\\n/, (_, size) => `\\n${Number(size) + 1}\\n`),
        ...lines.slice(1),
      ],
    }
    for (const [kind, changed] of Object.entries(changes)) {
      const copy = `${file}.${kind}`
      writeFileSync(copy, `${changed.join('\n')}\n`)
      const found = await runCommand(['audit', 'verify', copy, '--key', vkey, '--json'])
      expect([found.exitCode, JSON.parse(found.stdout).kind]).toEqual([1, kind])
    }
    const again = await audit('export', '--project', projectId, '--out', file)
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining('exists already')])
  })

  it('is found by the name of its project, with a token that may list projects', async () => {
    const keys = ['audit', 'keys', '--port', new URL(server.url).port, '--data', data, '--project']
    expect((await runCommand([...keys, 'fleet'])).stdout.trim()).toBe(vkey)
    const refused = await runCommand([...keys, 'fleet'], { VERDIGRAPH_TOKEN: key })
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('--project: pass the id')])
    const unknown = await runCommand([...keys, 'fleed'])
    expect(unknown.stderr).toContain('has no project `fleed`; did you mean `fleet`?')
  })

  it('is exported by a filter', async () => {
    const file = join(temporaryFolder(), 'part.ndjson')
    const flags = ['--type', 'svc.audit.capture.*', '--resource', 'car7']
    expect((await audit('export', '--project', projectId, '--out', file, ...flags)).exitCode).toBe(0)
    const verified = await runCommand(['audit', 'verify', file, '--key', vkey, '--json'])
    expect([verified.exitCode, JSON.parse(verified.stdout)]).toEqual([
      0,
      expect.objectContaining({ sound: true, isSelection: true, entries: 1 }),
    ])
    const wrong = await audit('export', '--project', projectId, '--out', `${file}.2`, '--type', 'svc.nothing.*')
    expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining('no event type matches')])
  })

  it('has hashes of input parameters that the holder of the data folder can compute', async () => {
    const { items } = await get(`/audit/v1/records?${query({ type: 'svc.audit.authorization.evaluation' })}`)
    const [{ entry }] = items as readonly [{ entry: { data: { request: Record<string, unknown> } } }]
    const { inputParamsHash, inputParamNames } = entry.data.request
    expect(inputParamNames).toEqual(['amount', 'purpose'])
    const hashOf = async (values: object): Promise<string> => {
      const text = JSON.stringify(values)
      const { stdout } = await runCommand(['audit', 'hash', '--data', data, '--project', 'fleet'], {}, [
        'sh',
        '-c',
        `printf '%s' '${text}' | "$@"`,
        'sh',
      ])
      return stdout.trim()
    }
    expect(await hashOf(parameters)).toBe(inputParamsHash)
    expect(await hashOf({ ...parameters, amount: 13 })).toMatch(/^[0-9a-f]{64}$/)
    expect(await hashOf({ ...parameters, amount: 13 })).not.toBe(inputParamsHash)
  })
})
