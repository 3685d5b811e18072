// What is done for every file of tests. A hook of a module that several files import is the first one's alone, since the
// files of a worker share what they import; those of this file are everybody's.
import { afterAll } from 'vitest'
import { Budget } from '../../src/engine/conditions.ts'
import { removeTemporaryFolders } from './temporary-folder.ts'

afterAll(removeTemporaryFolders)

// A budget that a test started and did not end would be charged with the work of the next file.
afterAll(() => {
  const budget = new Budget()
  budget.start({ stepsMax: Number.MAX_SAFE_INTEGER, timeMs: 1 })
  budget.end()
})
