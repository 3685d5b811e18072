// Opens the graph that a command asks: a service, a data folder, or a project folder with its graph in memory.
import { placeOf, type Target, type TargetFlags } from './target-place.ts'

export type { AskOptions, Target, TargetFlags, TargetPlace } from './target-place.ts'

/** Opens the graph that the flags, the environment or the current context name. Rejects with CliError. */
export async function openTarget(flags: TargetFlags): Promise<Target> {
  const place = placeOf(flags)
  switch (place.kind) {
    case 'service':
      return (await import('./target-service.ts')).openServiceTarget(place)
    case 'data-folder':
    case 'memory':
      return (await import('./target-process.ts')).openProcessTarget(place)
  }
}
