// The systems that `npm run release` builds a program for.

/** A system, and the packages with its native files. */
export interface ReleaseTarget {
  /** Part of the names of files. */
  readonly name: string
  /** The name of the target for Bun. */
  readonly compile: Bun.Build.CompileTarget
  /** The npm package with the runtime. */
  readonly runtimePackage: string
  /** The npm package with LMDB, and the file in it. */
  readonly storePackage: string
  readonly addon: string
  /** The file name of the program. */
  readonly program: string
  /** The architecture of its Debian package; null: it has none. */
  readonly debian: 'amd64' | 'arm64' | null
}

const program = 'verdigraph'

/** All targets that both Bun and LMDB offer. LMDB has no file for Windows on ARM that Bun could load, and none for FreeBSD. */
export const targets: readonly ReleaseTarget[] = [
  {
    name: 'linux-x64',
    compile: 'bun-linux-x64',
    runtimePackage: '@oven/bun-linux-x64',
    storePackage: '@lmdb/lmdb-linux-x64',
    addon: 'node.napi.glibc.node',
    program,
    debian: 'amd64',
  },
  {
    name: 'linux-arm64',
    compile: 'bun-linux-arm64',
    runtimePackage: '@oven/bun-linux-aarch64',
    storePackage: '@lmdb/lmdb-linux-arm64',
    addon: 'node.napi.glibc.node',
    program,
    debian: 'arm64',
  },
  {
    name: 'linux-x64-musl',
    compile: 'bun-linux-x64-musl',
    runtimePackage: '@oven/bun-linux-x64-musl',
    storePackage: '@lmdb/lmdb-linux-x64',
    addon: 'node.napi.musl.node',
    program,
    debian: null,
  },
  {
    name: 'linux-arm64-musl',
    compile: 'bun-linux-arm64-musl',
    runtimePackage: '@oven/bun-linux-aarch64-musl',
    storePackage: '@lmdb/lmdb-linux-arm64',
    addon: 'node.napi.musl.node',
    program,
    debian: null,
  },
  {
    name: 'darwin-x64',
    compile: 'bun-darwin-x64',
    runtimePackage: '@oven/bun-darwin-x64',
    storePackage: '@lmdb/lmdb-darwin-x64',
    addon: 'node.napi.node',
    program,
    debian: null,
  },
  {
    name: 'darwin-arm64',
    compile: 'bun-darwin-arm64',
    runtimePackage: '@oven/bun-darwin-aarch64',
    storePackage: '@lmdb/lmdb-darwin-arm64',
    addon: 'node.napi.node',
    program,
    debian: null,
  },
  {
    name: 'windows-x64',
    compile: 'bun-windows-x64',
    runtimePackage: '@oven/bun-windows-x64',
    storePackage: '@lmdb/lmdb-win32-x64',
    addon: 'node.napi.node',
    program: 'verdigraph.exe',
    debian: null,
  },
]

/** The target of this machine. Throws if Bun supports no such target. */
export function ownTarget(): ReleaseTarget {
  const isMusl =
    process.platform === 'linux' &&
    !(process.report.getReport() as { header: { glibcVersionRuntime?: string } }).header.glibcVersionRuntime
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `${system}-${process.arch}${isMusl ? '-musl' : ''}`
  const target = targets.find((one) => one.name === name)
  if (target === undefined) throw new Error(`no program can be built for ${name}`)
  return target
}
