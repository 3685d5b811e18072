// What is done for every file of tests. A hook of a module that several files import is the first one's alone, since the
// files of a worker share what they import; those of this file are everybody's.
import { afterAll } from 'vitest'
import { removeTemporaryFolders } from '../store/folder.ts'

afterAll(removeTemporaryFolders)
