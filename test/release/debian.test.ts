// The unit of deploy/systemd and the Debian package: installed below a folder of its own, started as its unit says, upgraded, removed
// and purged. systemd itself does not run here; `systemd-analyze` checks the unit.
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { childrenOf } from '../support/child-processes.ts'
import { openNotifySocket } from '../support/notify-socket.ts'
import { freePort, has, program, releaseFolder, run, succeed, top, untilReady, version } from '../support/release.ts'

const EXPOSURE_MAX = 1.5
const unitFile = join(top, 'deploy', 'systemd', 'verdigraph.service')
const unit = readFileSync(unitFile, 'utf8')
/** The values of a directive, in order. */
const valuesOf = (name: string): readonly string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-debian-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!has('systemd-analyze'))('the unit', () => {
  test('is found valid, without any line', async () => {
    const path = join(folder, 'verdigraph.service')
    const verify = async (text: string) => {
      writeFileSync(path, text)
      const { exitCode, stdout, stderr } = await run(['systemd-analyze', 'verify', '--man=no', path])
      return { exitCode, output: stdout + stderr }
    }
    // Programs must exist; that of the package is not installed here.
    const here = unit.replaceAll('/usr/bin/verdigraph', program)
    expect(await verify(here)).toEqual({ exitCode: 0, output: '' })
    // systemd-analyze has exit code 0 for unknown directives.
    expect((await verify(here.replace('ProtectClock', 'ProtectClocks'))).output).toContain('ProtectClocks')
  })

  test(`has an exposure of at most ${EXPOSURE_MAX}`, async () => {
    const output = await succeed(['systemd-analyze', 'security', '--offline=true', '--no-pager', unitFile])
    const exposure = Number(/Overall exposure level for verdigraph\.service: ([\d.]+)/.exec(output)?.[1])
    expect(exposure).toBeLessThanOrEqual(EXPOSURE_MAX)
    console.log(`exposure of the unit: ${exposure}`)
  })
})

/** The system calls of a set of systemd, such as `@system-service`. */
async function systemCalls(name: string): Promise<readonly string[]> {
  if (!name.startsWith('@')) return [name]
  const lines = (await succeed(['systemd-analyze', 'syscall-filter', '--no-pager', name])).split('\n').slice(1)
  const members = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  return (await Promise.all(members.map(systemCalls))).flat()
}

const canInstall = has('dpkg', 'dpkg-deb', 'systemd-sysusers', 'unshare') && process.getuid?.() === 0

describe.skipIf(!canInstall)('the package', () => {
  let root: string
  const inRoot = (path: string): string => join(root, path)
  const deb = join(releaseFolder, `verdigraph_${version}_amd64.deb`)
  const dpkg = (...args: string[]) =>
    succeed(['dpkg', `--root=${root}`, '--force-script-chrootless', '--force-depends', ...args], {
      env: { DEBIAN_FRONTEND: 'noninteractive' },
    })
  const installed = async (): Promise<string> =>
    (await run(['dpkg-query', `--root=${root}`, '-W', '-f', '${Status} ${Version}', 'verdigraph'])).stdout

  beforeAll(async () => {
    root = join(folder, 'root')
    for (const path of ['var/lib/dpkg/info', 'var/lib/dpkg/updates', 'etc'])
      mkdirSync(inRoot(path), { recursive: true })
    for (const name of ['status', 'available']) writeFileSync(inRoot(`var/lib/dpkg/${name}`), '')
    writeFileSync(inRoot('etc/passwd'), 'root:x:0:0::/root:/bin/sh\n')
    writeFileSync(inRoot('etc/group'), 'root:x:0:\n')
    await dpkg('--install', deb)
  }, 120_000)

  test('has the licences, no file that others may write, and names what it needs', async () => {
    const list = await succeed(['dpkg-deb', '--contents', deb])
    const lines = list.trim().split('\n')
    expect(lines.filter((line) => !/^[d-]rwxr-xr-x root\/root|^-rw-r--r-- root\/root/.test(line))).toEqual([])
    for (const path of [
      '/usr/bin/verdigraph',
      '/etc/verdigraph/settings.json',
      '/usr/share/doc/verdigraph/THIRD-PARTY-LICENSES.txt',
    ])
      expect(list).toContain(`.${path}\n`)
    expect(await succeed(['dpkg-deb', '--field', deb, 'Depends'])).toContain('libc6 (>= 2.34), libstdc++6')
    expect(await installed()).toBe(`install ok installed ${version}`)
    expect(readFileSync(inRoot('usr/lib/systemd/system/verdigraph.service'), 'utf8')).toBe(unit)
  })

  /** Starts the service as its unit says: its command, user and umask, below the root, with a notification socket. */
  function start(port: number) {
    const [user = '', group = ''] = idsOf('verdigraph')
    const [command = ''] = valuesOf('ExecStart')
    const mounts = ['/lib', '/lib64', '/proc', '/dev']
    for (const path of ['lib', 'lib64', 'proc', 'dev', 'run', 'tmp']) mkdirSync(inRoot(path), { recursive: true })
    chmodSync(inRoot('tmp'), 0o1777)
    const steps = [
      'mount --make-rprivate /',
      ...mounts.map((path) => `mount --rbind ${path} ${root}${path}`),
      `umask ${valuesOf('UMask')[0]}`,
      'exec "$@"',
    ]
    const variables = [`VERDIGRAPH_PORT=${port}`, 'NOTIFY_SOCKET=/run/notify']
    const inner = ['env', '-i', ...variables, Bun.which('chroot') ?? '', `--userspec=${user}:${group}`, root]
    return Bun.spawn(['unshare', '--mount', 'sh', '-ec', steps.join('\n'), 'sh', ...inner, ...command.split(' ')], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  }

  function idsOf(name: string): readonly string[] {
    const line = readFileSync(inRoot('etc/passwd'), 'utf8')
      .split('\n')
      .find((one) => one.startsWith(`${name}:`))
    return line?.split(':').slice(2, 4) ?? []
  }

  test('starts by its unit, keeps data and settings in an upgrade, and keeps the data in a removal and a purge', async () => {
    const state = inRoot('var/lib/verdigraph')
    const [user] = idsOf('verdigraph')
    expect([String(statSync(state).uid), statSync(state).mode & 0o777]).toEqual([user, 0o700])
    expect(valuesOf('User')).toEqual(['verdigraph'])
    expect(valuesOf('Type')).toEqual(['notify'])

    mkdirSync(inRoot('run'), { recursive: true })
    const socket = openNotifySocket(inRoot('run/notify'))
    chownSync(inRoot('run/notify'), Number(user), Number(user))
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const startedMs = performance.now()
    const first = start(port)
    const failed = first.exited.then(async () => {
      throw new Error(`the service ended: ${await first.stderr.text()}`)
    })
    await Promise.race([socket.until('READY=1'), failed])
    failed.catch(() => undefined)
    console.log(`the service of the package: ready ${Math.round(performance.now() - startedMs)} ms after its start`)
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    const key = readFileSync(join(state, 'master.key'), 'utf8')
    expect(statSync(join(state, 'master.key')).uid).toBe(Number(user))
    first.kill('SIGTERM')
    expect(await first.exited).toBe(0)

    // A later version, and settings that the administrator changed.
    appendFileSync(inRoot('etc/verdigraph/settings.json'), '\n')
    const changed = readFileSync(inRoot('etc/verdigraph/settings.json'), 'utf8')
    const next = join(folder, 'next')
    await succeed(['dpkg-deb', '--raw-extract', deb, next])
    const control = join(next, 'DEBIAN', 'control')
    writeFileSync(control, readFileSync(control, 'utf8').replace(`Version: ${version}`, `Version: ${version}+1`))
    writeFileSync(join(next, 'etc/verdigraph/settings.json'), '{}\n')
    await succeed(['dpkg-deb', '--root-owner-group', '-Znone', '--build', next, `${next}.deb`])
    await dpkg('--install', '--force-confold', `${next}.deb`)
    expect(await installed()).toBe(`install ok installed ${version}+1`)
    expect(readFileSync(inRoot('etc/verdigraph/settings.json'), 'utf8')).toBe(changed)
    const second = start(port)
    await untilReady(url, performance.now(), second)
    second.kill('SIGTERM')
    expect(await second.exited).toBe(0)
    expect(await second.stdout.text()).not.toContain('token')
    expect(readFileSync(join(state, 'master.key'), 'utf8')).toBe(key)
    socket.close()

    await dpkg('--remove', 'verdigraph')
    expect([existsSync(inRoot('usr/bin/verdigraph')), existsSync(inRoot('etc/verdigraph/settings.json'))]).toEqual([
      false,
      true,
    ])
    await dpkg('--purge', 'verdigraph')
    expect([existsSync(inRoot('etc/verdigraph')), readFileSync(join(state, 'master.key'), 'utf8')]).toEqual([
      false,
      key,
    ])
    await dpkg('--install', deb)
    await succeed(['dpkg', `--root=${root}`, '--force-script-chrootless', '--purge', 'verdigraph'], {
      env: { VERDIGRAPH_PURGE_DATA: 'yes' },
    })
    expect(existsSync(state)).toBe(false)
  })

  test.skipIf(!has('strace', 'systemd-analyze'))('uses only system calls that its unit permits', async () => {
    const calls = join(folder, 'calls')
    const port = await freePort()
    const args = ['serve', '--data', join(folder, 'traced'), '--port', String(port), '--demo']
    const traced = Bun.spawn(['strace', '-f', '-qq', '-o', calls, program, ...args], {
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await untilReady(`http://127.0.0.1:${port}`, performance.now(), traced)
    // The demo has written through lanes.
    process.kill(childrenOf(traced.pid)[0]?.pid as number, 'SIGTERM')
    expect(await traced.exited).toBe(0)
    const used = new Set([...readFileSync(calls, 'utf8').matchAll(/^\d+ +([a-z]\w*)\(/gm)].map(([, name = '']) => name))
    expect(used.size).toBeGreaterThan(40)
    const permitted = new Set<string>()
    for (const value of valuesOf('SystemCallFilter')) {
      const isDenied = value.startsWith('~')
      for (const name of value.replace('~', '').split(' '))
        for (const call of await systemCalls(name)) isDenied ? permitted.delete(call) : permitted.add(call)
    }
    expect([...used].filter((name) => !permitted.has(name))).toEqual([])
  })
})
