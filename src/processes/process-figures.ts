// Counts of the exits of the processes of a data folder, and their state. All of its processes share them, and each parent writes those of its
// children. The counts are modulo 2^32, and survive a restart of the service.
import { join } from 'node:path'
import { PROCESS_FIGURES_FILE } from '../kernel/folder/data-folder.ts'
import { openSharedWords } from '../store/process/shared-counter.ts'
import { type ChildKind, childKinds } from './child-kinds.ts'
import type { ChildExit } from './child-process.ts'

const kinds = Object.keys(childKinds) as readonly ChildKind[]
/** Causes of unexpected exits. */
const countedCauses = ['failed', 'killed', 'hung', 'oom'] as const
type CountedCause = (typeof countedCauses)[number]

const WORD = { isReplaced: 0, lastHungS: 1, firstCause: 2 } as const
const WORDS_PER_KIND = 8

/** Unexpected exits of the processes of a kind. */
interface ExitCount {
  readonly process: ChildKind
  readonly cause: CountedCause
  readonly count: number
}

/** The figures of a data folder. */
export interface ChildFigures {
  /** Counts an unexpected exit. `nowS`: seconds since the epoch. */
  countExit(kind: ChildKind, exit: ChildExit, nowS: number): void
  /** Notes whether a process of which there is one is missing: it has exited unexpectedly, and its replacement does not work yet. */
  setReplaced(kind: ChildKind, isReplaced: boolean): void
  /** The kinds for which `setReplaced` has noted that. */
  replaced(): readonly ChildKind[]
  exits(): readonly ExitCount[]
  /** When a process of the kind was last killed because it did not answer, seconds since the epoch; 0: never. */
  lastHungS(kind: ChildKind): number
}

/** Opens the figures, which it creates. `isReset`: no process of the service runs, so none is missing. */
export function openChildFigures(dataDir: string, isReset = false): ChildFigures {
  const words = openSharedWords(join(dataDir, PROCESS_FIGURES_FILE), kinds.length * WORDS_PER_KIND)
  const at = (kind: ChildKind, word: number): number => kinds.indexOf(kind) * WORDS_PER_KIND + word
  const atCause = (kind: ChildKind, cause: CountedCause): number =>
    at(kind, WORD.firstCause + countedCauses.indexOf(cause))
  const figures: ChildFigures = {
    countExit(kind, { cause }, nowS) {
      const counted = countedCauses.find((one) => one === cause)
      // Exit code 0, although there is work.
      Atomics.add(words, atCause(kind, counted ?? 'failed'), 1)
      if (cause === 'hung') Atomics.store(words, at(kind, WORD.lastHungS), nowS)
    },
    setReplaced: (kind, isReplaced) => void Atomics.store(words, at(kind, WORD.isReplaced), isReplaced ? 1 : 0),
    replaced: () => kinds.filter((kind) => Atomics.load(words, at(kind, WORD.isReplaced)) === 1),
    exits: () =>
      kinds.flatMap((kind) =>
        countedCauses.map((cause) => ({ process: kind, cause, count: Atomics.load(words, atCause(kind, cause)) })),
      ),
    lastHungS: (kind) => Atomics.load(words, at(kind, WORD.lastHungS)),
  }
  if (isReset) for (const kind of kinds) figures.setReplaced(kind, false)
  return figures
}
