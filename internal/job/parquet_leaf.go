package job

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/tidwall/gjson"
)

// leafText picks how values of a Parquet type stand in JSON: numbers as
// numbers, JSON as itself, times and other things as the text people write.
func leafText(t parquet.Type) func([]byte, parquet.Value) []byte {
	if logical := t.LogicalType(); logical != nil {
		switch l := logical.Value.(type) {
		case *format.JsonType:
			return appendRawJSON
		case *format.UUIDType:
			return appendUUID
		case *format.DateType:
			return appendDate
		case *format.TimestampType:
			return appendTimestamp(unitOf(l.Unit))
		case *format.TimeType:
			return appendTimeOfDay(unitOf(l.Unit))
		case *format.DecimalType:
			return appendDecimal(int(l.Scale))
		case *format.IntType:
			if !l.IsSigned {
				return appendUnsigned
			}
		}
	}
	return appendPlain
}

func unitOf(u format.TimeUnit) time.Duration {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return time.Millisecond
	case *format.MicroSeconds:
		return time.Microsecond
	}
	return time.Nanosecond
}

// appendPlain writes a value by its physical type.
func appendPlain(dst []byte, v parquet.Value) []byte {
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.AppendBool(dst, v.Boolean())
	case parquet.Int32:
		return strconv.AppendInt(dst, int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case parquet.Int96:
		return appendInt96(dst, v)
	case parquet.Float:
		return appendFloat(dst, float64(v.Float()), 32)
	case parquet.Double:
		return appendFloat(dst, v.Double(), 64)
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return appendBytes(dst, v.ByteArray())
	}
	return append(dst, "null"...)
}

// appendBytes takes bytes for text where they are, else writes them in base64.
func appendBytes(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return appendString(dst, string(b))
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// appendFloat writes the shortest number that reads back the same; JSON has no
// word for what is not finite.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if bits == 32 {
		b, _ := json.Marshal(float32(f))
		return append(dst, b...)
	}
	b, _ := json.Marshal(f)
	return append(dst, b...)
}

func appendUnsigned(dst []byte, v parquet.Value) []byte {
	if v.Kind() == parquet.Int32 {
		return strconv.AppendUint(dst, uint64(v.Uint32()), 10)
	}
	return strconv.AppendUint(dst, v.Uint64(), 10)
}

func appendRawJSON(dst []byte, v parquet.Value) []byte {
	if b := v.ByteArray(); gjson.ValidBytes(b) {
		return append(dst, oneLine(b)...)
	}
	return appendBytes(dst, v.ByteArray())
}

// oneLine is JSON without line breaks; inside strings JSON has none.
func oneLine(b []byte) string {
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(string(b))
}

func appendUUID(dst []byte, v parquet.Value) []byte {
	b := v.ByteArray()
	if len(b) != 16 {
		return appendBytes(dst, b)
	}
	return fmt.Appendf(dst, `"%x-%x-%x-%x-%x"`, b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func appendDate(dst []byte, v parquet.Value) []byte {
	return time.Unix(int64(v.Int32())*86400, 0).UTC().AppendFormat(dst, `"2006-01-02"`)
}

func appendTimestamp(unit time.Duration) func([]byte, parquet.Value) []byte {
	perSecond := int64(time.Second / unit)
	return func(dst []byte, v parquet.Value) []byte {
		n := v.Int64()
		t := time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC()
		return t.AppendFormat(dst, `"2006-01-02T15:04:05.999999999Z07:00"`)
	}
}

func appendTimeOfDay(unit time.Duration) func([]byte, parquet.Value) []byte {
	return func(dst []byte, v parquet.Value) []byte {
		n := v.Int64()
		if v.Kind() == parquet.Int32 {
			n = int64(v.Int32())
		}
		return time.Unix(0, n*int64(unit)).UTC().AppendFormat(dst, `"15:04:05.999999999"`)
	}
}

// appendInt96 writes the old timestamp: nanoseconds of the day and Julian day.
func appendInt96(dst []byte, v parquet.Value) []byte {
	const julianUnix = 2440588
	i := v.Int96()
	nanos := int64(i[0]) | int64(i[1])<<32
	t := time.Unix((int64(i[2])-julianUnix)*86400, nanos).UTC()
	return t.AppendFormat(dst, `"2006-01-02T15:04:05.999999999Z07:00"`)
}

// appendDecimal writes a whole number of scale digits behind the point.
func appendDecimal(scale int) func([]byte, parquet.Value) []byte {
	return func(dst []byte, v parquet.Value) []byte {
		n := new(big.Int)
		switch v.Kind() {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		default: // big-endian two's complement
			b := v.ByteArray()
			n.SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		return append(dst, pointed(n, scale)...)
	}
}

func pointed(n *big.Int, scale int) string {
	if scale <= 0 {
		return n.String()
	}
	sign, digits := "", new(big.Int).Abs(n).String()
	if n.Sign() < 0 {
		sign = "-"
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
