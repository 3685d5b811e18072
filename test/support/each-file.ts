// Setup and cleanup of every test file. The files of a worker share their imports, so a hook in an imported module runs for the
// first file only; hooks in this file run for each.
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { testSeed } from '../generate/random.ts'
import { removeTemporaryFolders } from './temporary-folder.ts'

fc.configureGlobal({ seed: testSeed() })

afterAll(removeTemporaryFolders)
