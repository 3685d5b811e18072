// Which build of the program this is. A build contains the commit and its time; from the
// sources they are read from git.
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { auditLayout, documentsLayout, eventsLayout, graphLayout } from '../store/lmdb/layout.ts'

/** The commit that a program was built from. */
export interface BuiltFrom {
  /** The hash of the commit; null: the sources were in no git repository. */
  readonly commit: string | null
  /** True: files differed from those of the commit. */
  readonly modified: boolean
  /** The time of the commit, RFC 3339, so that two builds of a commit are equal; null: not known. */
  readonly built_at: string | null
}

/** Replaced by the bundlers; not defined in a program that runs from its sources. */
declare const VERDIGRAPH_BUILT_FROM: BuiltFrom

const top = join(import.meta.dirname, '..', '..')

/** The members that `--version --json` prints. */
export function versionInformation(): object {
  const builtFrom = typeof VERDIGRAPH_BUILT_FROM === 'undefined' ? readBuiltFrom(top) : VERDIGRAPH_BUILT_FROM
  return {
    version: packageJson.version,
    ...builtFrom,
    layouts: {
      graph: graphLayout.version,
      documents: documentsLayout.version,
      events: eventsLayout.version,
      audit: auditLayout.version,
    },
    runtime: { name: 'bun', version: Bun.version },
    platform: `${process.platform}-${process.arch}`,
  }
}

/** Reads the commit of the repository at `folder`. `SOURCE_DATE_EPOCH` (seconds since 1970) takes precedence over the time of the commit. */
export function readBuiltFrom(folder: string): BuiltFrom {
  const [commit, seconds] = (git(folder, ['log', '-1', '--format=%H %ct']) ?? '').trim().split(' ')
  const epoch = process.env.SOURCE_DATE_EPOCH ?? seconds ?? ''
  const isKnown = commit !== undefined && commit !== ''
  return {
    commit: isKnown ? commit : null,
    modified: isKnown && git(folder, ['status', '--porcelain', '--untracked-files=no']) !== '',
    built_at: /^\d+$/.test(epoch) ? new Date(Number(epoch) * 1000).toISOString() : null,
  }
}

/** The output; null: git is not installed, or the folder is not the top of a repository. */
function git(folder: string, args: readonly string[]): string | null {
  const program = Bun.which('git')
  if (program === null) return null
  // An installed package may be in a folder of another repository.
  const { exitCode, stdout } = Bun.spawnSync(
    [program, '--git-dir', join(folder, '.git'), '--work-tree', folder, ...args],
    {
      cwd: folder,
      stderr: 'ignore',
    },
  )
  return exitCode === 0 ? stdout.toString() : null
}
