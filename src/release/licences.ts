// The licences of the packages that an artefact contains, which must accompany their code.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import spdxLicences from 'spdx-license-list/full.js'
import { top } from './compile.ts'
import { RUNTIME_LICENCES, RUNTIME_PACKAGE } from './contents.ts'
import { lockEntries } from './lock-file.ts'

const LICENCE_FILE = /^(licen[cs]e|copying|copyright|notice)/i

/** Licences of what the runtime contains, whose texts its packages do not have. */
const runtimeLicences = [
  'MIT',
  'LGPL-2.0-only',
  'LGPL-2.1-only',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Zlib',
  'ISC',
  'IJG',
  'OpenSSL',
  'ICU',
  'Unicode-3.0',
]

/** Folders of a package with the licences of code of others that it contains. */
const containedCode: Readonly<Record<string, readonly string[]>> = {
  'node_modules/lmdb': ['dependencies/lmdb/libraries/liblmdb', 'dependencies/lz4/lib'],
}

/** The text of all licences. `folders`: as in package-lock.json. Throws if a package has none. */
export function licenceTexts(folders: readonly string[]): string {
  const sections = folders.map((folder) => {
    const { version } = lockEntries[folder] ?? {}
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return `${name} ${version}\n\n${folder === RUNTIME_PACKAGE ? runtimeText() : licenceText(folder)}`
  })
  return `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

function licenceText(folder: string): string {
  const path = join(top, folder)
  const own = filesIn(path)
  const contained = (containedCode[folder] ?? []).map((inner) => {
    const texts = filesIn(join(path, inner))
    if (texts.length === 0) throw new Error(`${inner} of ${folder} has no licence`)
    return `${inner}\n\n${texts.join('\n\n')}`
  })
  return [own.length > 0 ? own.join('\n\n') : namedLicence(folder), ...contained].join('\n\n')
}

function filesIn(path: string): readonly string[] {
  if (!existsSync(path)) return []
  const names = readdirSync(path).filter((name) => LICENCE_FILE.test(name) && statSync(join(path, name)).isFile())
  return names.sort().map((name) => readFileSync(join(path, name), 'utf8').trim())
}

/** For a package that names its licence, but has no file with the text. */
function namedLicence(folder: string): string {
  const { license, author } = JSON.parse(readFileSync(join(top, folder, 'package.json'), 'utf8')) as {
    license?: string
    author?: string | { readonly name?: string }
  }
  const holder = typeof author === 'string' ? author : (author?.name ?? 'its authors')
  const names = (license ?? '').split(/[^\w.-]+/).filter((name) => spdxLicences[name] !== undefined)
  if (names.length === 0) throw new Error(`${folder} has no licence`)
  return [`${license}, by ${holder}`, ...names.map(spdxText)].join('\n\n')
}

function spdxText(id: string): string {
  const found = spdxLicences[id]
  if (found === undefined) throw new Error(`the text of the licence ${id} is not known`)
  return `${found.name}\n\n${found.licenseText.trim()}`
}

/** The runtime is under the MIT licence; what it contains has several. */
function runtimeText(): string {
  const page = readFileSync(RUNTIME_LICENCES, 'utf8')
    .replace(/^---[\s\S]*?---\s*/, '')
    .trim()
  return [page, ...runtimeLicences.map(spdxText)].join('\n\n')
}
