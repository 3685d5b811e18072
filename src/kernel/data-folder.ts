// Names of the files and folders in a data folder, and of the collections of the configuration. They are part of the storage
// format: a change of one needs a migration.

/** Folder with the environment of the configuration. */
export const CONFIGURATION_FOLDER = 'config'
/** Folder with one folder per project. */
export const PROJECTS_FOLDER = 'projects'

/** Collection with the current configuration documents, by id. */
export const CURRENT_DOCUMENTS = 'configuration'
/** Collection with replaced revisions, by `id.revision`. */
export const PAST_DOCUMENTS = 'configuration-past'

/** Shared counter with the number of the last configuration commit. */
export const CONFIGURATION_COMMIT_FILE = 'config.commit'
/** Shared counter with the number of the last graph commit. */
export const GRAPHS_COMMIT_FILE = 'graphs.commit'

/** The master key, unless it comes from the environment. */
export const MASTER_KEY_FILE = 'master.key'
/** The next master key, during a rotation. */
export const NEXT_MASTER_KEY_FILE = 'master.key.next'

/** Records that the demo is loaded. */
export const DEMO_FILE = 'demo.json'
/** Private key that signs the tokens of the demo's people. */
export const DEMO_KEY_FILE = 'demo-members.json'
