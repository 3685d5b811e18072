import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { settingSpecs } from '../../../src/settings.ts'
import { bin, killAll, ownEnvironment, runCommand, startServer } from '../../support/cli-process.ts'

const NEXT_STEP =
  'check the data folder with `verdigraph verify`, and restore it from a backup with `verdigraph restore`'

let folder: string
let data: string

/** A folder as after `init`, for tests that are not about `init`. */
let sample: string
const initialised = (): void => cpSync(sample, data, { recursive: true })

beforeAll(async () => {
  sample = join(mkdtempSync(join(tmpdir(), 'verdigraph-cli-')), 'data')
  await runCommand(['init', '--data', sample])
})

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-cli-'))
  data = join(folder, 'data')
})

afterAll(() => rmSync(dirname(sample), { recursive: true, force: true }))

afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

const jsonLine =
  /^\{"organization_id":"gid:[0-9A-Z]{26}","service_account_id":"gid:[0-9A-Z]{26}","token":"[\w-]+\.[\w-]+\.[\w-]+"\}\n$/

describe('verdigraph init', () => {
  it('prints one line of JSON and nothing else', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['init', '--data', data, '--json'])
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(jsonLine)
  })

  it('refuses a folder that already has an organization', async () => {
    initialised()
    const { exitCode, stdout, stderr } = await runCommand(['init', '--data', data, '--json'])
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`${data} already has an organization`)
  })
})

describe('verdigraph token', () => {
  it('prints another token of the same account', async () => {
    const first = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    const { exitCode, stdout } = await runCommand(['token', '--data', data, '--json', '--lifetime', '600'])
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(jsonLine)
    const second = JSON.parse(stdout)
    expect([second.organization_id, second.service_account_id]).toEqual([
      first.organization_id,
      first.service_account_id,
    ])
    expect(second.token).not.toBe(first.token)
    const claims = JSON.parse(Buffer.from(second.token.split('.')[1], 'base64url').toString())
    expect(claims.exp - claims.iat).toBe(600)
  })

  it('creates nothing without an organization', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['token', '--data', data])
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`${data} has no organization`)
    expect((await runCommand(['init', '--data', data, '--json'])).exitCode).toBe(0)
  })

  it('refuses a lifetime beyond a day', async () => {
    const { exitCode, stderr } = await runCommand(['token', '--data', data, '--lifetime', '86401'])
    expect(exitCode).toBe(2)
    expect(stderr).toContain('--lifetime: expected an integer from 120 to 86400 seconds, found `86401`')
  })
})

describe('verdigraph serve', () => {
  it('prints a token on an empty folder, responds, and exits with 0 on SIGTERM', async () => {
    const server = await startServer(['--data', data])
    const output = await server.printed('issues another\n')
    const token = /token +(\S+\.\S+\.\S+)\n/.exec(output)?.[1]
    const organization = /organization +(gid:\S+)\n/.exec(output)?.[1]
    const listed = await fetch(`${server.url}/configs/v1/projects?organization_id=${organization}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect([listed.status, await listed.text()]).toEqual([200, '{"data":[]}'])
    expect(await server.kill('SIGTERM')).toBe(0)

    const again = await startServer(['--data', data])
    expect(await again.kill('SIGINT')).toBe(0)
    expect(again.output()).not.toContain('token')
  })

  it('accepts a token that another process created in the meantime', async () => {
    const server = await startServer(['--data', data])
    const { organization_id, token } = JSON.parse((await runCommand(['token', '--data', data, '--json'])).stdout)
    const listed = await fetch(`${server.url}/configs/v1/projects?organization_id=${organization_id}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(listed.status).toBe(200)
    await server.kill('SIGTERM')
  })

  it('loads the demo data, whose printed requests get their printed answers', async () => {
    const server = await startServer(['--data', data, '--demo'])
    const output = await server.printed('claude mcp add')
    const exports = [...output.matchAll(/^ {2}(export (?:URL|KEY)=.*)$/gm)].map(([, line]) => line)
    expect(exports).toHaveLength(2)
    const printed = [...output.matchAll(/^ {2}(curl .*)\n {2}answers {2}(.*)$/gm)]
    expect(printed).toHaveLength(4)
    for (const [, curl, answer] of printed) {
      const child = Bun.spawn(['sh', '-c', [...exports, curl].join('\n')], { stdout: 'pipe', stderr: 'pipe' })
      expect(await child.stdout.text()).toBe(`${answer}\n`)
    }
    expect(await server.kill('SIGTERM')).toBe(0)
  })

  it('is itself the started process, so that signals reach it', async () => {
    const link = join(folder, 'verdigraph')
    symlinkSync(join(import.meta.dirname, '..', '..', '..', 'src', 'cli', 'verdigraph.sh'), link)
    const child = Bun.spawn([link, 'serve', '--data', data, '--port', '0'], {
      env: { ...ownEnvironment, NO_COLOR: '1' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    let output = ''
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      output += part
      if (/listening on .*\n/.test(output)) break
    }
    expect(output).toMatch(/listening on http:\/\/127\.0\.0\.1:\d+\n/)
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  })
})

describe('a served folder', () => {
  const served = (pid: number | string) => `error: the folder ${data} is served by ${pid}\n`

  it('cannot be served by a second process, nor initialised', async () => {
    const server = await startServer(['--data', data])
    for (const command of [['serve', '--port', '0'], ['init']]) {
      const { exitCode, stdout, stderr } = await runCommand([...command, '--data', data])
      expect([exitCode, stdout, stderr]).toEqual([1, '', served(`process ${server.pid}`)])
    }
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)
    const next = await startServer(['--data', data])
    await next.kill('SIGTERM')
  })

  it('is free as soon as its process is gone, however it ended', async () => {
    const killed = await startServer(['--data', data])
    await killed.kill('SIGKILL')
    // The process id may belong to another program by now: it blocks nothing.
    writeFileSync(join(data, 'server.pid'), `${process.pid}\n`)
    const next = await startServer(['--data', data])
    expect((await runCommand(['init', '--data', data])).stderr).toBe(served(`process ${next.pid}`))
    await next.kill('SIGTERM')
  })

  it('is free after a failed start', async () => {
    initialised()
    await runCommand(['serve', '--data', data, '--host', '999.1.1.1'])
    const next = await startServer(['--data', data])
    await next.kill('SIGTERM')
  })
})

describe('an unusable folder', () => {
  const refused = async (command: readonly string[]) => {
    const { exitCode, stdout, stderr } = await runCommand(command)
    expect([exitCode, stdout]).toEqual([1, ''])
    return stderr
  }

  it('is a file', async () => {
    writeFileSync(data, '')
    const message = `error: the folder ${data} cannot be used: a file with this name exists; name a folder with \`--data\`\n`
    expect(await refused(['serve', '--data', data])).toBe(message)
    expect(await refused(['init', '--data', data])).toBe(message)
    expect(await refused(['token', '--data', data])).toBe(
      `error: the folder ${join(data, 'config')} contains no store\n`,
    )
  })

  it('contains a configuration that is not a folder', async () => {
    mkdirSync(data, { mode: 0o700 })
    writeFileSync(join(data, 'config'), '')
    expect(await refused(['serve', '--data', data])).toMatch(
      /^error: the store in \S+\/config cannot be opened: [^\n]+\n$/,
    )
  })

  const top = join(import.meta.dirname, '..', '..', '..')
  const isRoot = process.getuid?.() === 0
  const prefix = isRoot ? ['setpriv', '--reuid=65534', '--clear-groups'] : []
  // Other users cannot read a checkout in the home directory of root.
  const reaches =
    !isRoot ||
    (Bun.which('setpriv') !== null &&
      [join(top, 'node_modules', '.bin', 'bun'), tmpdir()].every(
        (path) => Bun.spawnSync([...prefix, 'test', '-x', path]).exitCode === 0,
      ))
  if (!reaches) console.log('skipped: only root can read this checkout')
  it.skipIf(!reaches)('is not writable', async () => {
    chmodSync(folder, 0o555)
    const bin = join(top, 'src', 'cli', 'verdigraph.sh')
    for (const at of [data, folder]) {
      const child = Bun.spawn([...prefix, bin, 'serve', '--data', at, '--port', '0'], {
        env: { ...ownEnvironment, NO_COLOR: '1' },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      expect([await child.stderr.text(), await child.stdout.text(), await child.exited]).toEqual([
        `error: the folder ${at} cannot be used: no permission to write to it; run the program as its owner, or give the folder to this user (\`chown -R\`)\n`,
        '',
        1,
      ])
    }
    chmodSync(folder, 0o755)
  })
})

describe('a corrupted configuration', () => {
  const file = () => join(data, 'config', 'data.mdb')
  const refused = async (fault: string) => {
    for (const command of [['serve', '--port', '0'], ['init'], ['token']]) {
      expect(await runCommand([...command, '--data', data])).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: `error: ${fault}\n`,
      })
    }
  }

  it('does not become a new organization if it is empty', async () => {
    initialised()
    truncateSync(file(), 0)
    await refused(`${file()} is empty; ${NEXT_STEP}`)
    expect(statSync(file()).size).toBe(0)
  })

  it('is reported in one line if it is truncated', async () => {
    initialised()
    const pages = statSync(file()).size / 4096
    truncateSync(file(), 3 * 4096)
    await refused(`${file()} is damaged: it has 3 of ${pages} pages; ${NEXT_STEP}`)
  })

  it('is not replaced by a new one next to projects', async () => {
    initialised()
    mkdirSync(join(data, 'projects', 'SOME'), { recursive: true })
    rmSync(join(data, 'config'), { recursive: true })
    const { exitCode, stderr } = await runCommand(['serve', '--data', data])
    expect([exitCode, stderr]).toEqual([
      1,
      `error: the folder ${data} contains projects, but its configuration is missing\n`,
    ])
    expect(existsSync(join(data, 'config'))).toBe(false)
  })
})

describe('a master key', () => {
  it.each(['serve', 'token'])('that is malformed or lost is reported by %s', async (command) => {
    initialised()
    const path = join(data, 'master.key')
    writeFileSync(path, 'short\n')
    expect(await runCommand([command, '--data', data])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `error: ${path} does not contain a master key: expected 32 bytes in base64 or in hexadecimal\n`,
    })
    rmSync(path)
    expect(await runCommand([command, '--data', data])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'error: the data folder has no master.key: restore the file or set VERDIGRAPH_MASTER_KEY\n',
    })
    expect(existsSync(path)).toBe(false)
  })

  it('from the environment takes precedence over the file, and one that differs from that of the folder is reported', async () => {
    const one = { VERDIGRAPH_MASTER_KEY: '01'.repeat(32) }
    expect((await runCommand(['init', '--data', data], one)).exitCode).toBe(0)
    expect(existsSync(join(data, 'master.key'))).toBe(false)
    expect((await runCommand(['token', '--data', data], one)).exitCode).toBe(0)
    const { exitCode, stderr } = await runCommand(['token', '--data', data], { VERDIGRAPH_MASTER_KEY: '02'.repeat(32) })
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^error: the secret at \S+ was encrypted with another master key\n$/)
  })
})

describe('verdigraph settings', () => {
  it('prints settings, their values and their sources, and masks secrets', async () => {
    const file = join(folder, 'settings.json')
    writeFileSync(file, JSON.stringify({ data, drain_ms: 12 }))
    const given = ['settings', '--settings', file, '--host', '::1']
    const environment = { VERDIGRAPH_PORT: '81', VERDIGRAPH_MASTER_KEY: '01'.repeat(32) }
    const { exitCode, stdout } = await runCommand([...given, '--all'], environment)
    expect(exitCode).toBe(0)
    const lines = Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => [line.split(' ')[0], line.split(/ {2,}/)]),
    )
    expect(lines.data).toEqual(['data', data, `${file}: data`])
    expect(lines.host).toEqual(['host', '::1', '--host'])
    expect(lines.port).toEqual(['port', '81', 'VERDIGRAPH_PORT'])
    expect(lines.drain_ms).toEqual(['drain_ms', '12', `${file}: drain_ms`])
    expect(lines.body_bytes_max).toEqual(['body_bytes_max', '4194304', 'default'])
    expect(lines.master_key).toEqual(['master_key', '********', 'VERDIGRAPH_MASTER_KEY'])
    expect(Object.keys(lines)).toEqual([...Object.values(settingSpecs).map(({ name }) => name), 'master_key'])

    const short = (await runCommand(given, { ...environment, VERDIGRAPH_MCP_PAGE_MAX: '7' })).stdout
    expect(short).toMatch(/^mcp_page_max +7 +VERDIGRAPH_MCP_PAGE_MAX$/m)
    expect(short).not.toContain('lane_queue_max')
    expect(short).toMatch(/\n\n\d+ advanced settings have their defaults; `verdigraph settings --all` shows them\n$/)

    const json = JSON.parse((await runCommand([...given, '--json'], environment)).stdout)
    expect(json).toContainEqual({ name: 'port', value: 81, from: 'VERDIGRAPH_PORT' })
  })

  it('names variables that look like settings but are not, after the effective settings', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['settings'], {
      VERDIGRAPH_METRIC_ACCESS: 'off',
      VERDIGRAPH_PORT: '',
    })
    expect([exitCode, stderr]).toEqual([
      2,
      'error: VERDIGRAPH_METRIC_ACCESS: unknown setting; did you mean `VERDIGRAPH_METRICS_ACCESS`?\n',
    ])
    expect(stdout).toMatch(/^metrics_access +account +default$/m)
  })

  it('reports errors as the other commands do', async () => {
    const { exitCode, stderr } = await runCommand(['settings'], {
      VERDIGRAPH_CORS_ORIGINS: 'https://a.example/path',
      VERDIGRAPH_TLS_KEY: 'key.pem',
      VERDIGRAPH_METRICS_ACCESS: 'everybody',
    })
    expect([exitCode, stderr.split('\n')]).toEqual([
      2,
      [
        'error: VERDIGRAPH_CORS_ORIGINS: expected `*`, or origins such as `https://app.example.org`, separated by commas, found `https://a.example/path`',
        'error: VERDIGRAPH_METRICS_ACCESS: expected `public` or `account` or `off`, found `everybody`',
        'error: tls_certificate, tls_key: expected both or none',
        '',
      ],
    ])
  })
})

describe('settings', () => {
  it.each([
    ['a flag', ['--port', 'eighty'], {}, '--port: expected an integer from 0 to 65535, found `eighty`'],
    [
      'the environment',
      [],
      { VERDIGRAPH_BODY_BYTES_MAX: '12' },
      'VERDIGRAPH_BODY_BYTES_MAX: expected an integer from 1024 to 1073741824 bytes, found `12`',
    ],
    [
      'the environment, where a name is mistyped',
      [],
      { VERDIGRAPH_PROT: '8081' },
      'VERDIGRAPH_PROT: unknown setting; did you mean `VERDIGRAPH_PORT`?',
    ],
  ])('are checked in %s', async (_, flags, environment, message) => {
    const { exitCode, stderr } = await runCommand(['serve', '--data', data, ...flags], environment)
    expect([exitCode, stderr]).toEqual([2, `error: ${message}\n`])
  })

  it('are refused before anything is created: a mistyped master key creates no other', async () => {
    const { exitCode, stderr } = await runCommand(['init', '--data', data], {
      VERDIGRAPH_MASTERKEY: '01'.repeat(32),
      VERDIGRAPH_PORT: 'eighty',
    })
    expect([exitCode, stderr.split('\n')]).toEqual([
      2,
      [
        'error: VERDIGRAPH_MASTERKEY: unknown setting; did you mean `VERDIGRAPH_MASTER_KEY`?',
        'error: VERDIGRAPH_PORT: expected an integer from 0 to 65535, found `eighty`',
        '',
      ],
    ])
    expect(existsSync(data)).toBe(false)
  })

  it('ignore similar variables of orchestrators, and empty ones', async () => {
    const environment = {
      VERDIGRAPH_SERVICE_HOST: '10.0.0.11',
      VERDIGRAPH_SERVICE_PORT: '8080',
      VERDIGRAPH_SERVICE_PORT_HTTP: '8080',
      VERDIGRAPH_PORT: 'tcp://10.0.0.11:8080',
      VERDIGRAPH_PORT_8080_TCP: 'tcp://10.0.0.11:8080',
      VERDIGRAPH_PORT_8080_TCP_ADDR: '10.0.0.11',
      VERDIGRAPH_METRICS_SERVICE_HOST: '10.0.0.12',
      VERDIGRAPH_METRICS_PORT: 'tcp://10.0.0.12:9090',
      VERDIGRAPH_PROT: '',
    }
    const { exitCode, stdout, stderr } = await runCommand(['settings'], environment)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^port +8080 +default$/m)
    const own = await runCommand(['settings'], { ...environment, VERDIGRAPH_METRICS_PORT: '9090' })
    expect([own.exitCode, own.stderr]).toEqual([
      2,
      'error: VERDIGRAPH_METRICS_PORT: unknown setting; did you mean `VERDIGRAPH_METRICS_TOKEN`?\n',
    ])
  })

  it('are read from a file; the environment and flags take precedence', async () => {
    const file = join(folder, 'settings.json')
    writeFileSync(file, JSON.stringify({ data, host: 'not-a-host.invalid', capture_items_max: 10 }))
    const server = await startServer(['--settings', file], { VERDIGRAPH_HOST: '127.0.0.1' })
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:/)
    expect(await server.kill('SIGTERM')).toBe(0)
    expect((await runCommand(['init', '--data', data])).exitCode).toBe(1)
  })

  it('in a file must be known, and the file must exist', async () => {
    const file = join(folder, 'settings.json')
    writeFileSync(file, '{"prot": 1}')
    const unknown = await runCommand(['init', '--settings', file])
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      2,
      `error: ${file}: unknown setting \`prot\`; did you mean \`port\`?\n`,
    ])
    const missing = await runCommand(['init', '--settings', join(folder, 'none.json')])
    expect([missing.exitCode, missing.stderr]).toEqual([
      2,
      `error: ${join(folder, 'none.json')}: the settings file does not exist\n`,
    ])
  })

  it.each([
    ['alone', []],
    ['with workers', ['--workers', '2']],
  ])('report an unusable certificate once, and the service is not ready (%s)', async (_name, more) => {
    const certificate = join(folder, 'cert.pem')
    writeFileSync(certificate, 'no certificate')
    const environment = { VERDIGRAPH_TLS_CERTIFICATE: certificate, VERDIGRAPH_TLS_KEY: certificate }
    const started = await runCommand(['serve', '--data', data, '--port', '0', ...more], environment)
    expect([started.exitCode, started.stdout, started.stderr]).toEqual([
      1,
      '',
      `error: ${certificate} and ${certificate} cannot be used: expected a certificate and its key, both in PEM\n`,
    ])
    expect(existsSync(data)).toBe(false)
  })

  it('report an address that cannot be used', async () => {
    const server = await startServer(['--data', data])
    const { port } = new URL(server.url)
    const second = await runCommand(['serve', '--data', join(folder, 'other'), '--port', port])
    const other = join(folder, 'other')
    expect([second.exitCode, second.stdout]).toEqual([1, ''])
    // This start created the organization, but could not print its token.
    expect(second.stderr).toBe(
      `error: cannot listen on 127.0.0.1:${port}: the port is in use; choose another one with --port\n` +
        `error: ${other} now has an organization; \`${bin} token --data ${other}\` issues a token of its admin account\n`,
    )
    expect((await runCommand(['token', '--data', other, '--json'])).stdout).toMatch(jsonLine)
    await server.kill('SIGTERM')
  })

  it('report an invalid host', async () => {
    initialised()
    const { exitCode, stderr } = await runCommand(['serve', '--data', data, '--host', '999.1.1.1', '--port', '0'])
    expect([exitCode, stderr]).toEqual([
      1,
      'error: cannot listen on 999.1.1.1:0: `999.1.1.1` is not an address of this machine\n',
    ])
  })
})
