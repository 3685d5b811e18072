// The software bill of materials: every package inside the artefacts, in the CycloneDX format.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Contrib, Enums, Models, Serialize, Spec, Validation } from '@cyclonedx/cyclonedx-library'
import parseExpression from 'spdx-expression-parse'
import packageJson from '../../package.json' with { type: 'json' }
import type { BuiltFrom } from './build-info.ts'
import { RUNTIME_LICENCES, RUNTIME_PACKAGE } from './contents.ts'
import { type LockEntry, lockEntries } from './lock-file.ts'

const spec = Spec.Spec1dot6

/** The JSON document. Throws if it does not agree with the schema. */
export async function billOfMaterials(folders: readonly string[], builtFrom: BuiltFrom): Promise<string> {
  const { version, license, description } = packageJson
  const product = new Models.Component(Enums.ComponentType.Application, 'verdigraph', {
    bomRef: purlOf('verdigraph', version),
    purl: purlOf('verdigraph', version),
    version,
    description,
    licenses: licencesOf(license),
  })
  const components = new Map(folders.map((folder) => [folder, componentOf(folder)]))
  for (const [folder, component] of components) {
    product.dependencies.add(component.bomRef)
    for (const needed of dependenciesOf(folder)) {
      const found = components.get(needed)
      if (found !== undefined) component.dependencies.add(found.bomRef)
    }
  }
  const bom = new Models.Bom({
    // The same for each build of a commit.
    serialNumber: `urn:uuid:${uuidOf(`${version} ${builtFrom.commit}`)}`,
    metadata: new Models.Metadata({
      component: product,
      ...(builtFrom.built_at !== null && { timestamp: new Date(builtFrom.built_at) }),
    }),
    components: new Models.ComponentRepository(components.values()),
  })
  const text = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(spec)).serialize(bom, {
    sortLists: true,
    space: 2,
  })
  const problem = await new Validation.JsonStrictValidator(spec.version).validate(text)
  if (problem !== null) throw new Error(`the bill of materials is not valid: ${JSON.stringify(problem)}`)
  return `${text}\n`
}

function componentOf(folder: string): Models.Component {
  const { version, license, integrity } = lockEntries[folder] as LockEntry
  const path = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const [group, name] = path.startsWith('@') ? (path.split('/') as [string, string]) : [undefined, path]
  const purl = purlOf(path, version)
  const isRuntime = folder === RUNTIME_PACKAGE
  return new Models.Component(isRuntime ? Enums.ComponentType.Platform : Enums.ComponentType.Library, name, {
    bomRef: folder === `node_modules/${path}` ? purl : `${purl}#${folder}`,
    ...(group !== undefined && { group }),
    version,
    purl,
    licenses: licencesOf(license),
    hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-512'], hexOf(integrity)]]),
    ...(isRuntime && { components: new Models.ComponentRepository(runtimeComponents()) }),
  })
}

/** Throws if the licence is not an SPDX expression. */
function licencesOf(license: string | undefined): Models.LicenseRepository {
  if (license === undefined) throw new Error('a package has no licence in package-lock.json')
  return new Models.LicenseRepository([
    new Contrib.License.Factories.LicenseFactory(parseExpression).makeFromString(license),
  ])
}

function hexOf(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** The folders that Node finds the dependencies of a package in, if they are inside. */
function dependenciesOf(folder: string): readonly string[] {
  const { dependencies = {}, optionalDependencies = {} } = lockEntries[folder] as LockEntry
  return Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => {
    for (let at = folder; at !== ''; at = at.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, '')) {
      if (lockEntries[`${at}/node_modules/${name}`] !== undefined) return `${at}/node_modules/${name}`
    }
    return `node_modules/${name}`
  })
}

/** What the runtime contains, from its table of linked libraries: names and licences without versions, which it does not state. */
function runtimeComponents(): readonly Models.Component[] {
  const rows = [...readFileSync(RUNTIME_LICENCES, 'utf8').matchAll(/^\| (.+?) *\| (.+?) *\|$/gm)]
  const plain = (cell: string): string =>
    cell
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll('`', '')
      .trim()
  const found = rows.map(([, name = '', license = '']) => [plain(name), plain(license)] as const)
  const named = found.filter(([name]) => !/^(Library|Package|-+)$/.test(name))
  if (named.length < 20) throw new Error('the list of libraries of the runtime was not found')
  return [['JavaScriptCore', 'LGPL-2.0-only'] as const, ...named].map(
    ([name, license]) =>
      new Models.Component(Enums.ComponentType.Library, name, {
        bomRef: `bun#${name}`,
        licenses: new Models.LicenseRepository([new Models.NamedLicense(license)]),
      }),
  )
}

/** A UUID of version 8 (RFC 9562, section 5.8) from a hash. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
