// Verifies an audit log, in a folder or behind the URL of its tiles, with software of the Go project and of transparency-dev: the signatures of the checkpoint,
// the hash of every entry, inclusion proofs at the borders of tiles, and consistency with an older checkpoint. It shares no code
// with the service.
//
//	go run . FOLDER|URL ORIGIN VKEY[,VKEY…] [OLDER-CHECKPOINT]
//
// For a URL, the variable AUDIT_TOKEN has the key of an agent or the token of a service account.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/transparency-dev/formats/log"
	formats "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

func main() {
	if len(os.Args) < 4 {
		fail("usage: audit-verifier FOLDER|URL ORIGIN VKEY[,VKEY…] [OLDER-CHECKPOINT]")
	}
	folder, origin, vkeys := os.Args[1], os.Args[2], strings.Split(os.Args[3], ",")
	checkpoint, text := openCheckpoint(folder+"/checkpoint", origin, vkeys)
	fmt.Printf("checkpoint: %d entries, signed by %s\n", checkpoint.Size, strings.Join(signersOf(text), " and "))

	size := int64(checkpoint.Size)
	tree := tlog.Tree{N: size, Hash: tlog.Hash(checkpoint.Hash)}
	hashes := tlog.TileHashReader(tree, &tileReader{folder})

	bad, entries := 0, int64(0)
	for start := int64(0); start < size; start += 1 << tileHeight {
		bundle := readBundle(folder, start, size)
		indexes := make([]int64, len(bundle))
		for index := range bundle {
			indexes[index] = tlog.StoredHashIndex(0, start+int64(index))
		}
		// Checks the tile against the signed root.
		stored, err := hashes.ReadHashes(indexes)
		check(err)
		for index, entry := range bundle {
			if stored[index] != tlog.RecordHash(entry) {
				fmt.Printf("entry %d does not have its leaf hash\n", start+int64(index))
				bad++
			}
			entries++
		}
	}
	fmt.Printf("entries: %d of %d read, %d bad\n", entries, size, bad)

	proofs := 0
	for _, index := range []int64{0, 1, 255, 256, 257, 65535, 65536, size / 2, size - 1} {
		if index >= size {
			continue
		}
		leaf, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
		check(err)
		proof, err := tlog.ProveRecord(size, index, hashes)
		check(err)
		check(tlog.CheckRecord(proof, size, tree.Hash, index, leaf[0]))
		proofs++
	}
	fmt.Printf("inclusion proofs: %d verified\n", proofs)

	if len(os.Args) > 4 {
		older, _ := openCheckpoint(os.Args[4], origin, vkeys)
		proof, err := tlog.ProveTree(size, int64(older.Size), hashes)
		check(err)
		check(tlog.CheckTree(proof, size, tree.Hash, int64(older.Size), tlog.Hash(older.Hash)))
		fmt.Printf("consistency: continues the checkpoint of %d entries\n", older.Size)
	}
	if bad > 0 || entries != size {
		fail("the log is not sound")
	}
}

// Opens a checkpoint, which must be signed by all given keys. The type of a key is the first byte of its material.
func openCheckpoint(path, origin string, vkeys []string) (*log.Checkpoint, []byte) {
	text, err := read(path)
	check(err)
	var verifiers []note.Verifier
	for _, vkey := range vkeys {
		verifier, err := formats.NewVerifier(vkey)
		check(err)
		verifiers = append(verifiers, verifier)
	}
	checkpoint, _, opened, err := log.ParseCheckpoint(text, origin, verifiers[0], verifiers[1:]...)
	check(err)
	if len(opened.Sigs) != len(verifiers) {
		fail("%s: %d of %d keys signed", path, len(opened.Sigs), len(verifiers))
	}
	return checkpoint, text
}

func signersOf(checkpoint []byte) []string {
	var names []string
	for _, line := range strings.Split(string(checkpoint), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "—" {
			names = append(names, fields[1])
		}
	}
	return names
}

// Reads a file of a folder, or of a service.
func read(path string) ([]byte, error) {
	if !strings.HasPrefix(path, "http://") && !strings.HasPrefix(path, "https://") {
		return os.ReadFile(path)
	}
	request, err := http.NewRequest("GET", path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("AUDIT_TOKEN"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the service answered %s", path, response.Status)
	}
	return io.ReadAll(response.Body)
}

func readBundle(folder string, start, size int64) [][]byte {
	tile := tlog.Tile{H: tileHeight, L: 0, N: start >> tileHeight, W: int(min(1<<tileHeight, size-start))}
	bytes, err := read(folder + "/" + strings.Replace(pathOf(tile), "tile/0/", "tile/entries/", 1))
	check(err)
	var entries [][]byte
	for len(bytes) > 0 {
		length := int(binary.BigEndian.Uint16(bytes))
		entries = append(entries, bytes[2:2+length])
		bytes = bytes[2+length:]
	}
	if len(entries) != tile.W {
		fail("the bundle at entry %d has %d entries instead of %d", start, len(entries), tile.W)
	}
	return entries
}

// x/mod puts the height of tiles into paths, C2SP tlog-tiles does not.
func pathOf(tile tlog.Tile) string {
	return strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
}

type tileReader struct{ folder string }

func (*tileReader) Height() int { return tileHeight }

func (r *tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range tiles {
		bytes, err := read(r.folder + "/" + pathOf(tile))
		if err != nil {
			return nil, err
		}
		found = append(found, bytes)
	}
	return found, nil
}

func (*tileReader) SaveTiles([]tlog.Tile, [][]byte) {}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}
