// The image of deploy/container, built without a daemon and started with a read-only root, without privileges, as its configuration says.
// The base is made from the libraries of this system, because tests pull no image.
import {
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { childrenOf } from '../support/child-processes.ts'
import { askUntilClosed } from '../support/keep-alive-client.ts'
import { freePort, has, program, releaseFolder, run, succeed, top, untilReady } from '../support/release.ts'

const isPossible = has('buildah', 'unshare', 'nsenter') && process.getuid?.() === 0
const USER = 65532

interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Volumes: object
  readonly StopSignal: string
  readonly WorkingDir: string
  readonly Healthcheck: { readonly Test: readonly string[] }
}

describe.skipIf(!isPossible)('the image', () => {
  let folder: string
  let root: string
  let config: ImageConfig
  const buildah = (...args: string[]) =>
    succeed([
      'buildah',
      '--root',
      join(folder, 'root'),
      '--runroot',
      join(folder, 'run'),
      '--storage-driver',
      'vfs',
      ...args,
    ])

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verdigraph-image-'))
    const context = join(folder, 'context')
    mkdirSync(context)
    copyFileSync(program, join(context, 'verdigraph'))
    copyFileSync(join(top, 'LICENSE'), join(context, 'LICENSE'))
    copyFileSync(join(releaseFolder, 'THIRD-PARTY-LICENSES.txt'), join(context, 'THIRD-PARTY-LICENSES.txt'))
    cpSync(join(top, 'deploy', 'container', 'volume'), join(context, 'volume'), { recursive: true })
    await buildBase()
    const file = join(top, 'deploy', 'container', 'Containerfile')
    // The Docker format, because that of OCI has no HEALTHCHECK.
    const options = ['--isolation', 'chroot', '--format', 'docker', '--build-arg', 'BASE=localhost/base', '-f', file]
    await buildah('bud', ...options, '-t', 'verdigraph', context)
    const inspected = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/verdigraph'))
    config = inspected.Docker.config
    const container = (await buildah('from', 'localhost/verdigraph')).trim()
    root = (await buildah('mount', container)).trim()
  }, 300_000)

  afterAll(async () => {
    if (root !== undefined) await run(['umount', '-R', root])
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  /** Contents of distroless images: the C and C++ libraries, and empty folders. */
  async function buildBase(): Promise<void> {
    const base = join(folder, 'base')
    const addon = join(top, 'node_modules', '@lmdb', 'lmdb-linux-x64', 'node.napi.glibc.node')
    for (const [path] of (await succeed(['ldd', program, addon])).matchAll(/\/lib\S+\.so\S*(?= \(|$)/gm)) {
      mkdirSync(join(base, dirname(path)), { recursive: true })
      copyFileSync(path, join(base, path))
    }
    for (const name of ['dev', 'proc', 'etc']) mkdirSync(join(base, name), { recursive: true })
    writeFileSync(join(base, 'etc', 'passwd'), `nonroot:x:${USER}:${USER}::/:/nonexistent\n`)
    writeFileSync(join(folder, 'Base'), 'FROM scratch\nCOPY base /\n')
    await buildah('bud', '--isolation', 'chroot', '-t', 'base', '-f', join(folder, 'Base'), folder)
  }

  /** Starts the image as a runtime does: namespaces for processes and mounts, a read-only root, one volume, its user. */
  function start(volume: string, variables: readonly string[]) {
    const steps = [
      'mount --make-rprivate /',
      `mount --bind ${root} ${root}`,
      `mount --bind ${volume} ${root}/var/lib/verdigraph`,
      `mount -t proc proc ${root}/proc`,
      `mount --rbind /dev ${root}/dev`,
      `mount -o remount,bind,ro ${root}`,
      'exec "$@"',
    ]
    const command = ['env', '-i', ...config.Env, ...variables, 'chroot', `--userspec=${config.User}`, root]
    const inner = ['sh', '-ec', steps.join('\n'), 'sh', ...command, ...config.Entrypoint, ...config.Cmd]
    return Bun.spawn(['unshare', '--mount', '--pid', '--fork', '--kill-child', ...inner], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  }

  function newVolume(): string {
    const volume = mkdtempSync(join(folder, 'volume-'))
    chownSync(volume, USER, USER)
    return volume
  }

  test('has a user without privileges, one volume, a health check and a stop signal', () => {
    expect(config).toMatchObject({
      User: `${USER}:${USER}`,
      Entrypoint: ['/opt/verdigraph/verdigraph'],
      Cmd: ['serve'],
      Volumes: { '/var/lib/verdigraph': {} },
      StopSignal: 'SIGTERM',
      WorkingDir: '/var/lib/verdigraph',
      Healthcheck: { Test: ['CMD', '/opt/verdigraph/verdigraph', 'health'] },
    })
    expect(['bin', 'usr', 'sbin'].filter((name) => existsSync(join(root, name)))).toEqual([])
    const volume = statSync(join(root, 'var/lib/verdigraph'))
    expect([volume.uid, volume.gid, statSync(join(root, config.Entrypoint[0] as string)).uid]).toEqual([USER, USER, 0])
  })

  test('serves from a read-only root, is healthy, and answers running requests after SIGTERM', async () => {
    const volume = newVolume()
    const port = await freePort()
    const startedMs = performance.now()
    const child = start(volume, [`VERDIGRAPH_PORT=${port}`])
    const readyMs = await untilReady(`http://127.0.0.1:${port}`, startedMs, child)
    const [first] = childrenOf(child.pid)
    const pid = String(first?.pid)
    const inside = [
      'nsenter',
      '--mount',
      '--pid',
      '--target',
      pid,
      'env',
      '-i',
      ...config.Env,
      `VERDIGRAPH_PORT=${port}`,
    ]
    const check = [...inside, 'chroot', `--userspec=${config.User}`, root, ...config.Healthcheck.Test.slice(1)]
    expect(await run(check)).toEqual({
      exitCode: 0,
      stdout: `http://127.0.0.1:${port} is alive and ready\n`,
      stderr: '',
    })
    // Everything that it wrote is on the volume, and belongs to its user.
    const files = readdirSync(volume, { recursive: true, encoding: 'utf8' })
    expect(files).toContain('data/master.key')
    expect(files.filter((name) => statSync(join(volume, name)).uid !== USER)).toEqual([])
    const written = await run([...inside, 'chroot', root, '/opt/verdigraph/verdigraph', 'init', '--data', '/opt/other'])
    expect([written.exitCode, written.stderr]).toEqual([1, expect.stringMatching(/EROFS|read-only/i)])

    const target = '/openapi.json'
    const answer = await (await fetch(`http://127.0.0.1:${port}${target}`)).text()
    const running = Array.from({ length: 16 }, () => askUntilClosed('127.0.0.1', port, () => ({ target, answer })))
    await Promise.all(running.map(({ begun }) => begun))
    process.kill(Number(pid), config.StopSignal as 'SIGTERM')
    const ends = await Promise.all(running.map(({ ended }) => ended))
    expect(ends).toEqual(ends.map(() => ({ unanswered: 0, wrong: 0, fault: null, lastSaysClose: true })))
    expect(await child.exited).toBe(0)
    expect(await run(check)).toMatchObject({ exitCode: 1, stdout: '' })
    const size = (await buildah('images', '--format', '{{.Size}}', 'localhost/verdigraph')).trim()
    console.log(`the image with its base: ${size}; ready ${readyMs} ms after its start`)

    // The same volume again, with two workers.
    const restarted = start(volume, [`VERDIGRAPH_PORT=${port}`, 'VERDIGRAPH_WORKERS=2'])
    await untilReady(`http://127.0.0.1:${port}`, performance.now(), restarted)
    process.kill(childrenOf(restarted.pid)[0]?.pid as number, 'SIGTERM')
    expect(await restarted.exited).toBe(0)
    expect(await restarted.stdout.text()).not.toContain('token')
  })
})
