// Environment and flags → checked settings. Every limit of the process has its name, unit and reason here.

export interface Settings {
  readonly dataDir: string
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** Request body, bytes: 4 MiB holds a capture of 250 large nodes. */
  readonly bodyBytesMax: number
  /** One decision, milliseconds. */
  readonly decisionTimeMs: number
  /** Rows, relationships and list items that one execution may touch. */
  readonly traversalStepsMax: number
  /** Items of one capture batch (facts 1.12). */
  readonly captureItemsMax: number
}

export const defaultSettings: Settings = {
  dataDir: './verdigraph-data',
  host: '127.0.0.1',
  port: 8080,
  bodyBytesMax: 4 * 1024 * 1024,
  decisionTimeMs: 1000,
  traversalStepsMax: 20_000_000,
  captureItemsMax: 250,
}
