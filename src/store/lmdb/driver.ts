// The functions of lmdb-js that the store uses. The package loads its native addon, which takes tens of milliseconds; the npm library
// replaces this file by one that loads the package with the first store in a folder (src/release/build-package.ts).
import * as lmdb from 'lmdb'

/** A transaction of the native addon. */
export interface NativeTransaction {
  readonly address: number
  abort(): void
}

/** The native addon. Its exports that the type declarations of lmdb-js omit. */
export interface NativeAddon {
  readonly Txn: new (environment: object, flags: number) => NativeTransaction
  resetTxn(address: number): void
}

/** lmdb-js. */
interface LmdbDriver {
  readonly open: typeof lmdb.open
  readonly nativeAddon: NativeAddon
}

/** Returns lmdb-js. Throws if the native addon cannot be loaded. */
export function loadDriver(): LmdbDriver {
  return lmdb as unknown as LmdbDriver
}
