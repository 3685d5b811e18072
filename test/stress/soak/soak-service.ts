// The service of a soak run: a served folder on a disk of its own, over TLS, whose clock and disk the run controls.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bin } from '../../support/cli-process.ts'
import { freePorts } from '../../support/counterparts/broker-process.ts'

const DISK_BYTES = 4 * 1024 ** 3
const TMPFS_BYTES = 1024 ** 3
const FAKETIME = ['/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1', '/usr/lib/faketime/libfaketimeMT.so.1']
/** libfaketime reads its file once a second. */
const CLOCK_SETTLE_MS = 2500
const START_LIMIT_MS = 120_000
const COMMAND_LIMIT_MS = 300_000

/** Delays the calls that wait for the disk by the milliseconds in a shared file. */
const SLOW_DISK_SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
static volatile uint32_t *delay_ms;
__attribute__((constructor)) static void attach(void) {
  const char *path = getenv("SOAK_DISK_DELAY");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(0, 4, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) delay_ms = mapped;
}
static void wait_for_disk(void) {
  uint32_t ms = delay_ms ? *delay_ms : 0;
  if (ms == 0) return;
  struct timespec time = { ms / 1000, (ms % 1000) * 1000000L };
  nanosleep(&time, 0);
}
#define SYNC(name) int name(int file) { \\
  static int (*next)(int); if (!next) next = dlsym(RTLD_NEXT, #name); wait_for_disk(); return next(file); }
SYNC(fsync)
SYNC(fdatasync)
int msync(void *from, size_t length, int flags) {
  static int (*next)(void *, size_t, int);
  if (!next) next = dlsym(RTLD_NEXT, "msync");
  if (flags & MS_SYNC) wait_for_disk();
  return next(from, length, flags);
}
`

/** The limits of this machine for a run. */
export interface SoakAbilities {
  /** The file system of the data folder; `folder`: it cannot be filled. */
  readonly disk: 'loop' | 'tmpfs' | 'folder'
  readonly clock: boolean
  readonly slowDisk: boolean
}

export interface SoakServiceOptions {
  readonly folder: string
  readonly workers: number
  /** Settings, as environment variables. */
  readonly settings: Readonly<Record<string, string>>
  /** Faults that are left out: `disk`, `clock`, `slow-disk`. */
  readonly without: readonly string[]
}

/** The outcome of a command. */
export interface SoakCommand {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export class SoakService {
  readonly url: string
  readonly data: string
  readonly backups: string
  readonly abilities: SoakAbilities
  /** Seconds that the clock of the service is ahead of the clock of the run. */
  clockOffsetS = 0
  /** Odd while the clock is being set. */
  clockChanges = 0
  /** No request may expect an answer while this is not null. */
  #stopping: Promise<void> | null = null
  #child: Bun.Subprocess<'ignore', 'ignore', 'ignore'> | Bun.Subprocess | null = null
  #isEnding = false
  readonly #folder: string
  readonly #disk: string
  readonly #environment: Record<string, string>
  readonly #port: number
  readonly #workers: number
  readonly #clockFile: string
  readonly #delayFile: string
  /** Lines of the error stream of the service. */
  readonly log: string
  /** Called when the service ends although the run did not stop it. */
  onEnd: (exitCode: number | null) => void = () => undefined

  static async create(options: SoakServiceOptions): Promise<SoakService> {
    const [port] = (await freePorts(1)) as [number]
    return new SoakService(options, port)
  }

  private constructor({ folder, workers, settings, without }: SoakServiceOptions, port: number) {
    this.#folder = folder
    this.#disk = join(folder, 'disk')
    this.#port = port
    this.#workers = workers
    this.url = `https://127.0.0.1:${port}`
    this.data = join(this.#disk, 'data')
    this.backups = join(folder, 'backups')
    this.log = join(folder, 'service.log')
    mkdirSync(this.#disk, { recursive: true })
    mkdirSync(this.backups)
    const disk = without.includes('disk') ? 'folder' : mountDisk(folder, this.#disk)
    this.#clockFile = join(folder, 'clock')
    this.#delayFile = join(folder, 'delay')
    writeFileSync(this.#clockFile, '+0\n')
    writeFileSync(this.#delayFile, Buffer.alloc(4))
    const library = without.includes('slow-disk') ? null : compileDelay(folder)
    const faketime = without.includes('clock') ? null : (FAKETIME.find((path) => existsSync(path)) ?? null)
    this.abilities = { disk, clock: faketime !== null, slowDisk: library !== null }
    const preload = [faketime, library].filter((path) => path !== null).join(':')
    this.#environment = {
      PATH: process.env.PATH ?? '',
      NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
      ...(preload !== '' && { LD_PRELOAD: preload, SOAK_DISK_DELAY: this.#delayFile }),
      ...(faketime !== null && {
        FAKETIME_TIMESTAMP_FILE: this.#clockFile,
        FAKETIME_CACHE_DURATION: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      }),
      VERDIGRAPH_PORT: String(port),
      VERDIGRAPH_BACKUP_FOLDER: this.backups,
      VERDIGRAPH_TLS_CERTIFICATE: join(folder, 'server.pem'),
      VERDIGRAPH_TLS_KEY: join(folder, 'server.key'),
      // On a busy machine a lane starts late.
      VERDIGRAPH_LANE_WAIT_MS: '60000',
      VERDIGRAPH_DATA: this.data,
      ...settings,
    }
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Runs a command of the program with the clock of the service. */
  async run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<SoakCommand> {
    const env = { ...this.#environment, ...environment }
    const limit = { timeout: COMMAND_LIMIT_MS, killSignal: 'SIGKILL' } as const
    const child = Bun.spawn([bin, ...args], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', ...limit })
    const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    return { exitCode, stdout, stderr: child.signalCode === null ? stderr : `${stderr}\nended by ${child.signalCode}` }
  }

  async start(): Promise<void> {
    const env = this.#environment
    const file = Bun.file(this.log)
    this.#isEnding = false
    const child = Bun.spawn(
      ['sh', '-c', 'exec "$0" "$@" 2>> "$LOG" > /dev/null', bin, 'serve', '--workers', String(this.#workers)],
      {
        env: { ...env, LOG: file.name as string },
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
      },
    )
    this.#child = child
    void child.exited.then(() => {
      if (!this.#isEnding) this.onEnd(child.exitCode)
    })
    const end = performance.now() + START_LIMIT_MS
    for (;;) {
      const ready = await fetch(`${this.url}/ready`).catch(() => null)
      if (ready?.status === 200) return
      if (performance.now() > end || child.exitCode !== null)
        throw new Error(`the service does not start: ${readFileSync(this.log, 'utf8').slice(-2000)}`)
      await Bun.sleep(50)
    }
  }

  /** The end of the error stream of the service. */
  lastLog(): string {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').slice(-2000) : ''
  }

  /** Stops the service. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    this.#isEnding = true
    this.#child?.kill('SIGTERM')
    await this.#child?.exited
    return this.#child?.exitCode ?? null
  }

  /** Stops the service, does something with the folder, and starts it again. */
  async restart(between: () => Promise<void>): Promise<number | null> {
    const done = Promise.withResolvers<void>()
    this.#stopping = done.promise
    try {
      const code = await this.stop()
      await between()
      await this.start()
      return code
    } finally {
      this.#stopping = null
      done.resolve()
    }
  }

  get isStopping(): boolean {
    return this.#stopping !== null
  }

  /** Resolves when the service is not being restarted. */
  async running(): Promise<void> {
    while (this.#stopping !== null) await this.#stopping
  }

  /** Sets the clock of the service and of its commands. Resolves when all processes use it. */
  async setClock(offsetS: number): Promise<void> {
    this.clockChanges += 1
    writeFileSync(this.#clockFile, `${offsetS < 0 ? '' : '+'}${offsetS}\n`)
    await Bun.sleep(CLOCK_SETTLE_MS)
    this.clockOffsetS = offsetS
    this.clockChanges += 1
  }

  /** Each wait for the disk takes this much longer. */
  setDiskDelay(ms: number): void {
    // In place: the file is mapped.
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(ms)
    const { openSync, writeSync, closeSync } = require('node:fs') as typeof import('node:fs')
    const file = openSync(this.#delayFile, 'r+')
    writeSync(file, bytes, 0, 4, 0)
    closeSync(file)
  }

  /** Takes all free space of the disk, and returns the function that frees it. */
  fillDisk(): () => void {
    const ballast = join(this.#disk, 'ballast')
    for (let size = 1 << 30; size >= 4096; size /= 2) {
      for (let part = 0; ; part++) {
        const file = `${ballast}-${size}-${part}`
        const { exitCode } = Bun.spawnSync(['fallocate', '-l', String(size), file], { stderr: 'ignore' })
        if (exitCode === 0) continue
        rmSync(file, { force: true })
        break
      }
    }
    return () => void Bun.spawnSync(['sh', '-c', `rm -f ${ballast}-*`])
  }

  /** Writes a new certificate and key for the server, and returns its fingerprint. */
  renewCertificate(): string {
    return renewCertificate(this.#folder)
  }

  /** The fingerprint of the certificate that a new connection gets. */
  async servedFingerprint(): Promise<string> {
    const { connect } = await import('node:tls')
    return new Promise((resolve, reject) => {
      const ca = readFileSync(join(this.#folder, 'authority.pem'), 'utf8')
      const socket = connect({ host: '127.0.0.1', port: this.#port, ca }, () => {
        resolve(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      })
      socket.on('error', reject)
    })
  }

  async close(): Promise<void> {
    await this.stop()
    // Lazily: a process may hold a descriptor for a moment.
    if (this.abilities.disk !== 'folder') Bun.spawnSync(['umount', '--lazy', this.#disk])
  }
}

function mountDisk(folder: string, disk: string): SoakAbilities['disk'] {
  const image = join(folder, 'image')
  const quiet = { stdout: 'ignore', stderr: 'ignore' } as const
  Bun.spawnSync(['truncate', '-s', String(DISK_BYTES), image], quiet)
  const isMade = Bun.spawnSync(['mkfs.ext4', '-q', '-m', '0', image], quiet).exitCode === 0
  if (isMade && Bun.spawnSync(['mount', '-o', 'loop', image, disk], quiet).exitCode === 0) return 'loop'
  rmSync(image, { force: true })
  const size = `size=${TMPFS_BYTES}`
  return Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', size, 'tmpfs', disk], quiet).exitCode === 0 ? 'tmpfs' : 'folder'
}

function compileDelay(folder: string): string | null {
  const compiler = Bun.which('cc') ?? Bun.which('gcc')
  if (compiler === null) return null
  const [source, library] = [join(folder, 'delay.c'), join(folder, 'delay.so')]
  writeFileSync(source, SLOW_DISK_SOURCE)
  const built = Bun.spawnSync([compiler, '-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  if (built.exitCode !== 0) throw new Error(`compiling the slow disk: ${built.stderr}`)
  return library
}

/** Creates the authority that signs the certificates of the service, in the folder of a run. */
export function createAuthority(folder: string): void {
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '30',
    '-subj',
    '/CN=soak authority',
    '-keyout',
    join(folder, 'authority.key'),
    '-out',
    join(folder, 'authority.pem'),
  )
  renewCertificate(folder)
}

function renewCertificate(folder: string): string {
  const at = (name: string): string => join(folder, name)
  writeFileSync(at('server.ext'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n')
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', at('next.key'))
  openssl('req', '-new', '-key', at('next.key'), '-subj', '/CN=127.0.0.1', '-out', at('next.csr'))
  openssl(
    'x509',
    '-req',
    '-in',
    at('next.csr'),
    '-CA',
    at('authority.pem'),
    '-CAkey',
    at('authority.key'),
    '-CAcreateserial',
    '-days',
    '30',
    '-extfile',
    at('server.ext'),
    '-out',
    at('next.pem'),
  )
  const shown = openssl('x509', '-in', at('next.pem'), '-noout', '-fingerprint', '-sha256')
  const { renameSync } = require('node:fs') as typeof import('node:fs')
  renameSync(at('next.key'), at('server.key'))
  renameSync(at('next.pem'), at('server.pem'))
  return shown.trim().replace(/^.*=/, '')
}

function openssl(...args: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['openssl', ...args])
  if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`)
  return stdout.toString()
}
