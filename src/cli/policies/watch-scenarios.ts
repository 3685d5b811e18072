// Runs scenario files again when they, or the files of their projects, change. Events of the file system only start a comparison of
// the times and sizes of files, because the contents of events differ between systems and editors.
import { existsSync, type FSWatcher, statSync, watch } from 'node:fs'
import { basename, dirname, resolve, sep } from 'node:path'
import { PROJECT_FILE, SCENARIOS } from '../../project/file-kinds.ts'
import type { ScenarioFileResult } from '../../scenarios/run-suite.ts'
import { printNotice } from '../output/print.ts'
import { filesBelow, foldersBelow } from './files-below.ts'

/** The runs of a watch. */
interface WatchedRuns {
  /** The scenario files at present. */
  files(): readonly string[]
  /** Runs files. Resolves with their results and the `kept` ones of other files. */
  run(files: readonly string[], kept: readonly ScenarioFileResult[]): Promise<readonly ScenarioFileResult[]>
}

/** Editors write a file in several steps. */
const SETTLE_MS = 60

/** Runs the scenario files below `paths`, and then again those that a change concerns. Does not resolve. */
export async function watchScenarios(paths: readonly string[], runs: WatchedRuns): Promise<never> {
  const watchers = new FolderWatchers()
  let results: readonly ScenarioFileResult[] = []
  let seen: FileStates = new Map()
  for (let isFirst = true; ; isFirst = false) {
    // The folders are watched before the files are read, so that no change is missed.
    const roots = [...paths, ...results.flatMap(({ projectFolder }) => projectFolder ?? [])]
    watchers.watch(foldersOf(roots))
    const files = runs.files()
    const states = statesOf([...roots, ...files])
    const changed = changesBetween(seen, states)
    const concerned = files.filter((file) => isConcerned(file, results, changed))
    const kept = results.filter(({ file }) => files.includes(file) && !concerned.includes(file))
    const isOneRemoved = kept.length + concerned.length < results.length
    seen = states
    if (isFirst || concerned.length > 0 || isOneRemoved) {
      results = await runs.run(concerned, kept)
      // The projects are known only now.
      const projects = results.flatMap(({ projectFolder }) => projectFolder ?? [])
      watchers.watch(foldersOf([...roots, ...projects]))
      seen = new Map([...statesOf(projects), ...seen])
      printNotice('waiting for changes')
    }
    await watchers.next()
    await Bun.sleep(SETTLE_MS)
    watchers.reset()
  }
}

/** Time and size by absolute path. */
type FileStates = ReadonlyMap<string, string>

function statesOf(paths: readonly string[]): FileStates {
  const files = paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return []
    return stat.isDirectory() ? filesBelow(path, /\.(?:ya?ml|cypher)$/) : [path]
  })
  const states = new Map<string, string>()
  for (const file of files) {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat !== undefined) states.set(resolve(file), `${stat.mtimeMs}:${stat.size}:${stat.ino}`)
  }
  return states
}

function changesBetween(before: FileStates, after: FileStates): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((file) => before.get(file) !== after.get(file))
}

/** A scenario is concerned by changes of its own file and of the other files of its project. A project file changes which scenarios it has. */
function isConcerned(file: string, results: readonly ScenarioFileResult[], changed: readonly string[]): boolean {
  const result = results.find((one) => one.file === file)
  if (result === undefined) return true
  const { projectFolder } = result
  return changed.some(
    (path) =>
      path === resolve(file) ||
      basename(path) === PROJECT_FILE ||
      (projectFolder !== null && path.startsWith(projectFolder + sep) && !path.endsWith(SCENARIOS.ending)),
  )
}

/** The folders to watch: of a file its own, of a folder all below it. */
function foldersOf(paths: readonly string[]): ReadonlySet<string> {
  const folders = paths.filter(existsSync).flatMap((path) => {
    return statSync(path).isDirectory() ? foldersBelow(path) : [dirname(path)]
  })
  return new Set(folders.map((folder) => resolve(folder)))
}

/** Watches folders, each without those below it: a watch of a whole tree would include installed packages. */
class FolderWatchers {
  private readonly watchers = new Map<string, FSWatcher>()
  private changed = Promise.withResolvers<void>()

  /** Watches exactly these folders. */
  watch(folders: ReadonlySet<string>): void {
    for (const folder of this.watchers.keys()) if (!folders.has(folder)) this.close(folder)
    for (const folder of folders) {
      if (this.watchers.has(folder)) continue
      const watcher = watch(folder, () => this.changed.resolve())
      watcher.on('error', () => this.close(folder))
      this.watchers.set(folder, watcher)
    }
  }

  /** Resolves after a change since the last `reset`. */
  next(): Promise<void> {
    return this.changed.promise
  }

  reset(): void {
    this.changed = Promise.withResolvers<void>()
  }

  private close(folder: string): void {
    this.watchers.get(folder)?.close()
    this.watchers.delete(folder)
  }
}
