// The Debian package (LMDB needs the C++ library): the program, its unit, its user, and a settings file that upgrades do not overwrite. Built by dpkg-deb, which takes
// SOURCE_DATE_EPOCH as the time of all files.
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { top } from './compile.ts'

/** The contents of a package. */
interface DebianOptions {
  readonly architecture: 'amd64' | 'arm64'
  readonly program: string
  /** The texts of the licences of everything inside. */
  readonly licences: string
  /** Seconds since 1970. */
  readonly epochS: number
  readonly outfile: string
}

const deploy = (...path: string[]): string => join(top, 'deploy', ...path)
const MAINTAINER_SCRIPTS = ['postinst', 'prerm', 'postrm'] as const
const SETTINGS = 'etc/verdigraph/settings.json'

/** Whether this machine can build Debian packages. */
export function canBuildDebian(): boolean {
  return Bun.which('dpkg-deb') !== null
}

/** Writes the package. Throws if dpkg-deb fails. */
export async function buildDebian({ architecture, program, licences, epochS, outfile }: DebianOptions): Promise<void> {
  const root = join(top, 'dist', 'debian', architecture)
  rmSync(root, { recursive: true, force: true })
  const add = (path: string, content: string | Uint8Array, mode = 0o644): void => {
    mkdirSync(join(root, dirname(path)), { recursive: true, mode: 0o755 })
    writeFileSync(join(root, path), content, { mode })
  }
  mkdirSync(join(root, 'usr', 'bin'), { recursive: true })
  copyFileSync(program, join(root, 'usr', 'bin', 'verdigraph'))
  add('usr/lib/systemd/system/verdigraph.service', readFileSync(deploy('systemd', 'verdigraph.service')))
  add('usr/lib/sysusers.d/verdigraph.conf', readFileSync(deploy('systemd', 'verdigraph.sysusers')))
  add(SETTINGS, readFileSync(deploy('debian', 'settings.json')))
  const licence = readFileSync(join(top, 'LICENSE'), 'utf8')
  add(
    'usr/share/doc/verdigraph/copyright',
    `${licence}\nThis package contains libraries of others: THIRD-PARTY-LICENSES.txt.\n`,
  )
  add('usr/share/doc/verdigraph/THIRD-PARTY-LICENSES.txt', licences)
  const kib = Math.ceil(statSync(program).size / 1024)
  add('DEBIAN/control', controlFile(architecture, kib))
  add('DEBIAN/conffiles', `/${SETTINGS}\n`)
  for (const name of MAINTAINER_SCRIPTS) add(`DEBIAN/${name}`, readFileSync(deploy('debian', name)), 0o755)
  const modes = Bun.spawnSync(['chmod', '-R', 'u=rwX,go=rX', root])
  if (modes.exitCode !== 0) throw new Error(`chmod: ${modes.stderr.toString()}`)
  // gzip, because packages with zstd cannot be installed before Debian 12, and xz takes minutes.
  const built = Bun.spawn(['dpkg-deb', '--root-owner-group', '-Zgzip', '-z6', '--build', root, outfile], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epochS) },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const problem = await built.stderr.text()
  if ((await built.exited) !== 0) throw new Error(`dpkg-deb: ${problem}`)
  rmSync(root, { recursive: true })
}

function controlFile(architecture: string, installedKib: number): string {
  const { version, description } = packageJson
  return `Package: verdigraph
Version: ${version}
Architecture: ${architecture}
Maintainer: The Verdigraph authors <verdigraph@localhost>
Installed-Size: ${installedKib}
Depends: libc6 (>= 2.34), libstdc++6 (>= 11), libgcc-s1, passwd
Recommends: systemd
Section: net
Priority: optional
Description: graph-based authorization in one process
 ${description}
`
}
