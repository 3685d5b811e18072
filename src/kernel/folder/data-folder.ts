// Names of the files and folders in a data folder, and of the collections of the configuration. They are part of the storage
// format: a change of one needs a migration.

/** Folder with the environment of the configuration. */
export const CONFIGURATION_FOLDER = 'config'
/** Folder with one folder per project, which has an environment for each graph of the project. */
export const PROJECTS_FOLDER = 'projects'
/** Folder with the further constituents, in the folder of a project. */
export const CONSTITUENTS_FOLDER = 'constituents'
/** Prefix of a project that is being removed. It is renamed first, so that a crash leaves no partial project. */
export const REMOVED_PREFIX = '.removed-'

/** Folder with the environment of events that belong to no other transaction. */
export const EVENTS_FOLDER = 'events'

/** Folder of the audit trail: the index, and one folder per log. */
export const AUDIT_FOLDER = 'audit'
/** Folder with the environment of the audit index, in the folder of the audit trail. */
export const AUDIT_INDEX_FOLDER = 'index'
/** Folder with one folder per log, in the folder of the audit trail. */
export const AUDIT_LOGS_FOLDER = 'logs'

/** Data file in the folder of an LMDB environment, as lmdb-js names it. */
export const DATA_FILE = 'data.mdb'
/** Lock file in the folder of an LMDB environment, with its table of readers, as lmdb-js names it. */
export const LMDB_LOCK_FILE = 'lock.mdb'

/** Locked in the folder of an environment by every process that has it open. */
export const PRESENCE_LOCK_FILE = 'open.lock'
/** Locked in the folder of an environment by every process that has it open and knows that its pages were checked. */
export const CHECKED_LOCK_FILE = 'checked.lock'
/** In the folder of an environment while LMDB creates its files: until then an empty data file, or none, is no damage. */
export const CREATING_FILE = 'data.mdb.creating'

/** Shared counter with the time until which changes of graphs are noted for watchers, in seconds since the epoch. */
export const WATCHED_UNTIL_FILE = 'watched.until'
/** Folder with the notes of changed names of each watched graph, in a folder for each start of the service. */
export const WATCH_FOLDER = 'watch'

/** Collection with the current configuration documents, by id. */
export const CURRENT_DOCUMENTS = 'configuration'
/** Collection with replaced revisions, by `id.revision`. */
export const PAST_DOCUMENTS = 'configuration-past'
/** Collection with the newest state of each audit log, by the id of the log. It belongs to this folder: instances do not share it. */
export const AUDIT_HEADS = 'audit-heads'
/** Collection with the acknowledged losses of each audit log, by the id of the log. It belongs to this folder, as the heads do. */
export const AUDIT_ACKNOWLEDGED_LOSSES = 'audit-acknowledged-losses'

/** Shared counter with the number of the last configuration commit. */
export const CONFIGURATION_COMMIT_FILE = 'config.commit'
/** Shared counter with the time at which the copy of a shared configuration was known to be the newest. */
export const CONFIRMED_FILE = 'config.confirmed'
/** Shared counter with the time until which this instance has the lease of a shared configuration. */
export const LEASE_FILE = 'config.lease'
/** Shared counter of the commits of all processes to all environments, which is written when a process waits for one. */
export const COMMIT_SIGNAL_FILE = 'commits.signal'
/** Shared counter with the number of the last graph commit. */
export const GRAPHS_COMMIT_FILE = 'graphs.commit'
/** Shared counter with the number of the last commit of the folder of events. */
export const EVENTS_COMMIT_FILE = 'events.commit'
/** Shared counter with the number of the last commit of the audit index. */
export const AUDIT_COMMIT_FILE = 'audit.commit'
/** Shared counter with the time at which the audit records were last sealed, or found to be sealed, in seconds since the epoch. */
export const AUDIT_ALIVE_FILE = 'audit.alive'
/** Shared counter with the number of audit records that are not sealed. */
export const AUDIT_UNSEALED_FILE = 'audit.unsealed'
/** Shared counter with the number of audit records that were sealed, modulo 2^32. */
export const AUDIT_SEALED_FILE = 'audit.sealed'
/** Shared counter with the time since which a signature of a customer's key is due and fails, in seconds since the epoch; 0: none. */
export const AUDIT_SIGNATURE_DUE_FILE = 'audit.signature-due'
/** Shared counter with the number of failed signatures of customers' keys. */
export const AUDIT_SIGNATURE_FAILURES_FILE = 'audit.signature-failures'

/** Folder with the state of the shipping of changes, and with the object that is being shipped. */
export const SHIPPING_FOLDER = 'shipping'
/** Shared figures of the shipping of changes. */
export const SHIPPING_FIGURES_FILE = 'shipping.figures'

/** Shared figures of the processes of the service. */
export const PROCESS_FIGURES_FILE = 'processes.figures'

/** The master key, unless it comes from the environment. */
export const MASTER_KEY_FILE = 'master.key'
/** The next master key, during a rotation. */
export const NEXT_MASTER_KEY_FILE = 'master.key.next'

/** Records that the demo is loaded. */
export const DEMO_FILE = 'demo.json'
/** Private key that signs the tokens of the demo's people. */
export const DEMO_KEY_FILE = 'demo-members.json'

/** Locked exclusively by the process that serves the folder, or whose workers do. */
export const SERVER_LOCK_FILE = 'server.lock'
/** Locked shared by the workers, so that the folder stays locked while a worker of a killed process is left. */
export const WORKERS_LOCK_FILE = 'workers.lock'
/** Process id of the server, for messages, and the token by which workers recognize their server. */
export const SERVER_PID_FILE = 'server.pid'
/** State of the last rolling restart of the workers. A server without a supervisor has none. */
export const ROLLING_RESTART_FILE = 'server.restart'
/** Folder with a lock file for each background task. */
export const TASK_LOCKS_FOLDER = 'locks'
/** Folder with the sockets of lanes. */
export const LANE_SOCKETS_FOLDER = 'lanes'
/** Shared counter of ended MCP sessions. */
export const ENDED_SESSIONS_FILE = 'mcp.ended'

/** The results of scheduled backups and drills, as JSON. It is not part of a backup. */
export const BACKUP_RECORD_FILE = 'backups.json'

/** Marks a folder with an unfinished import. */
export const IMPORT_MARKER_FILE = 'import.unfinished'
/** Lock in the temporary folder of a backup, an export or an import. */
export const STAGING_LOCK_FILE = 'staging.lock'
