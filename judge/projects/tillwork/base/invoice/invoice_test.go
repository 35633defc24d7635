package invoice_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.test/invoice"
	"example.test/money/assert"
)

func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	assert.NoError(t, err)
	assert.Equal(t, len(files) >= 3, true, "files")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			assert.NoError(t, err)
			text, total, found := strings.Cut(string(data), "\ntotal ")
			assert.Equal(t, found, true, "has a total")
			got, err := invoice.Read(strings.NewReader(text))
			assert.NoError(t, err)
			assert.Equal(t, got.Total().String(), strings.TrimSpace(total))
		})
	}
}

func TestTaxesAreSortedByRate(t *testing.T) {
	got, err := invoice.Read(strings.NewReader("1 10 19 a\n1 10 7 b\n1 10 0 c\n"))
	assert.NoError(t, err)
	var rates []int64
	for _, tax := range got.Taxes() {
		rates = append(rates, tax.Rate)
	}
	assert.Equal(t, rates, []int64{0, 70, 190})
}

func TestReadNamesTheLine(t *testing.T) {
	_, err := invoice.Read(strings.NewReader("1 10 19 a\n\n0 10 19 b\n"))
	assert.Error(t, err)
	assert.Equal(t, err.Error(), `line 3: count "0"`)
}
