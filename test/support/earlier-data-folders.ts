// Data folders that earlier versions of the program wrote, packed in data/data-folders/, with the answers that they gave. Each has the
// demo. make-data-folder.ts adds one.
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  auditLayout,
  documentsLayout,
  eventsLayout,
  type FolderLayout,
  graphLayout,
} from '../../src/store/lmdb/layout.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Where they are. */
export const dataFolders = join(import.meta.dirname, 'data', 'data-folders')

/** The kinds of environments, by the names in the fixtures. */
export const layoutKinds: readonly (readonly [contents: string, layout: FolderLayout])[] = [
  ['graph', graphLayout],
  ['documents', documentsLayout],
  ['events', eventsLayout],
  ['audit', auditLayout],
]

/** A data folder as an earlier version wrote it. */
export interface EarlierDataFolder {
  /** The layout version by contents, as in `layoutKinds`. */
  readonly layouts: Readonly<Record<string, number>>
  /** The key of the demo's application agent. */
  readonly key: string
  readonly asked: readonly AskedDecision[]
}

/** A request, and the answer of the version that wrote the folder. */
export interface AskedDecision {
  readonly target: string
  readonly body: object
  readonly answer: unknown
}

/** The folders by name. */
export const earlierDataFolders: ReadonlyMap<string, EarlierDataFolder> = new Map(
  readdirSync(dataFolders)
    .filter((file) => file.endsWith('.json'))
    .map((file) => [basename(file, '.json'), JSON.parse(readFileSync(join(dataFolders, file), 'utf8'))]),
)

/** Unpacks one, and returns its path. */
export function unpackDataFolder(name: string): string {
  const folder = join(temporaryFolder(), 'data')
  mkdirSync(folder)
  const { exitCode, stderr } = Bun.spawnSync(['tar', '-xzf', join(dataFolders, `${name}.tar.gz`), '-C', folder])
  if (exitCode !== 0) throw new Error(`tar: ${stderr}`)
  // The first versions let other users in.
  chmodSync(folder, 0o700)
  return folder
}

/** Sends a request of the demo's application agent, and returns the answer without its order. */
export async function askDataFolder(url: string, key: string, target: string, body: object): Promise<unknown> {
  const response = await fetch(`${url}${target}`, {
    method: 'POST',
    headers: { 'x-svc-clientkey': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as { results?: readonly { id: string }[] }
  if (response.status !== 200) throw new Error(`${target} ${JSON.stringify(body)}: ${JSON.stringify(answer)}`)
  return answer.results === undefined ? answer : { results: answer.results.map(({ id }) => id).sort() }
}
