module netdyno.dev/studies/mjpeg-memory

go 1.24.0
