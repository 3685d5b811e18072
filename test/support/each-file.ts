// Setup and cleanup of every test file. The files of a worker share their imports, so a hook in an imported module runs for the
// first file only; hooks in this file run for each.
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { Budget } from '../../src/engine/conditions.ts'
import { testSeed } from '../generate/random.ts'
import { removeTemporaryFolders } from './temporary-folder.ts'

fc.configureGlobal({ seed: testSeed() })

afterAll(removeTemporaryFolders)

// Ends a budget that a test left running: the work of the next file would be charged to it.
afterAll(() => {
  const budget = new Budget()
  budget.start({ stepsMax: Number.MAX_SAFE_INTEGER, timeMs: 1 })
  budget.end()
})
