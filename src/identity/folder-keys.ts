// The master keys of a data folder, from the environment, from credentials, or from files in the folder.
import {
  givenMasterKey,
  loadMasterKeys,
  type MasterKeySource,
  type MasterKeys,
  masterKeyVariable,
  nextMasterKeyVariable,
} from './master-key.ts'
import { SecretBox } from './secret-box.ts'

/** Opens the box of the secrets of a data folder, which may be served. Throws OperationalError if there is no master key. */
export function openSealer(dataDir: string): SecretBox {
  return createSecretBox(readMasterKeys(dataDir, false))
}

/** Where the master key comes from: the environment, a credential, or a file in the data folder. */
export function masterKeySource(dataDir: string, mayCreate: boolean): MasterKeySource {
  return { dataDir, given: givenMasterKey(masterKeyVariable), mayCreate }
}

/** Reads the master keys. `mayCreate`: a folder without one gets one. Throws OperationalError if a key is missing or wrong. */
export function readMasterKeys(dataDir: string, mayCreate: boolean): MasterKeys {
  return loadMasterKeys(masterKeySource(dataDir, mayCreate), givenMasterKey(nextMasterKeyVariable))
}

/** Creates the box of secrets with these keys. */
export function createSecretBox({ current, next }: MasterKeys): SecretBox {
  return new SecretBox(current, next === null ? [] : [next])
}
