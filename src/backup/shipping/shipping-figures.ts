// The figures of the shipping of changes, which the process that ships shares with all processes of the service.
import { join } from 'node:path'
import { SHIPPING_FIGURES_FILE } from '../../kernel/folder/data-folder.ts'
import { openSharedWords } from '../../store/process/shared-counter.ts'

const WORD = { moment: 0, base: 1, objects: 2, kibibytes: 3, failures: 4 } as const
const WORDS = 8

/** A shorter delay has causes that end by themselves, such as a restart. */
const LAG_S = 60

/** The lag from which shipping is late, seconds. */
export function shippingLateS(intervalMs: number): number {
  return LAG_S + (2 * intervalMs) / 1000
}

/** The figures of a data folder. All counts are modulo 2^32, and survive a restart of the service. */
export interface ShippingFigures {
  /** The newest moment that can be restored, in seconds since the epoch; 0: there is no such moment. */
  momentS: number
  /** When the present generation began, in seconds since the epoch; 0: there is no generation. */
  baseS: number
  objects: number
  kibibytes: number
  failures: number
}

/** Opens the figures, which it creates. Assignments are visible to all processes. */
export function openShippingFigures(dataDir: string): ShippingFigures {
  const words = openSharedWords(join(dataDir, SHIPPING_FIGURES_FILE), WORDS)
  const word = (at: number) => ({
    get: () => Atomics.load(words, at),
    set: (value: number) => void Atomics.store(words, at, value),
    enumerable: true,
  })
  return Object.defineProperties({} as ShippingFigures, {
    momentS: word(WORD.moment),
    baseS: word(WORD.base),
    objects: word(WORD.objects),
    kibibytes: word(WORD.kibibytes),
    failures: word(WORD.failures),
  })
}
