package main

import (
	"bytes"
	"image"
	"image/jpeg"
	"time"

	"netdyno.dev/contender/mjpeg"
)

const step = 4 // pixels that the picture moves from frame to frame

// sendLive draws, encodes and sends pictures until the process ends.
func (s *sender) sendLive(job *mjpeg.Job) error {
	picture := image.NewYCbCr(image.Rect(0, 0, job.Width, job.Height), image.YCbCrSubsampleRatio420)
	var file bytes.Buffer
	begun := time.Now()
	for number := 0; ; number++ {
		draw(picture, number*step)
		file.Reset()
		if err := jpeg.Encode(&file, picture, &jpeg.Options{Quality: job.Quality}); err != nil {
			return err
		}
		if job.FPS > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(number) * time.Second / time.Duration(job.FPS))))
		}
		if err := s.sendFrame(file.Bytes()); err != nil {
			return err
		}
		job.Count(file.Len())
	}
}

// draw draws slanted grey bars over coloured fields, moved by this number of pixels.
func draw(picture *image.YCbCr, moved int) {
	for y := range picture.Rect.Dy() {
		row := picture.Y[y*picture.YStride:][:picture.Rect.Dx()]
		for x := range row {
			row[x] = byte(x + y + moved)
		}
	}
	for i := range picture.Cb {
		x, y := i%picture.CStride, i/picture.CStride
		picture.Cb[i], picture.Cr[i] = byte((x+moved)/64*40), byte(y/64*40)
	}
}
