// Google's in-memory fake of Pub/Sub behind the REST paths of the service. Google's own types decode the requests, and Google's
// library verifies the token.
//
//	pubsubfake <folder> <topic name …>
//
// The folder contains public.pem; the file `ready` in it gets the URL.
package main

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	pb "cloud.google.com/go/pubsub/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/pstest"
	"golang.org/x/oauth2/jws"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

func main() {
	folder := os.Args[1]
	fake := pstest.NewServer()
	connection, err := grpc.NewClient(fake.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	publisher := pb.NewPublisherClient(connection)
	for _, name := range os.Args[2:] {
		_, err := publisher.CreateTopic(context.Background(), &pb.Topic{Name: name})
		check(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "public.pem"))
	check(err)
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	check(err)

	http.HandleFunc("/messages", func(response http.ResponseWriter, request *http.Request) {
		type message struct {
			Data        string            `json:"data"`
			Attributes  map[string]string `json:"attributes"`
			OrderingKey string            `json:"orderingKey"`
		}
		all := []message{}
		for _, one := range fake.Messages() {
			all = append(all, message{string(one.Data), one.Attributes, one.OrderingKey})
		}
		check(json.NewEncoder(response).Encode(all))
	})
	http.HandleFunc("/v1/", func(response http.ResponseWriter, request *http.Request) {
		token := strings.TrimPrefix(request.Header.Get("authorization"), "Bearer ")
		claims, err := jws.Decode(token)
		if err == nil {
			err = jws.Verify(token, key.(*rsa.PublicKey))
		}
		if err != nil || claims.Aud != "https://pubsub.googleapis.com/" || claims.Exp-claims.Iat != 3600 || claims.Iss != claims.Sub {
			fail(response, http.StatusUnauthorized, codes.Unauthenticated, fmt.Sprint("invalid token: ", err))
			return
		}
		body, err := io.ReadAll(request.Body)
		check(err)
		publish := &pb.PublishRequest{}
		if err := protojson.Unmarshal(body, publish); err != nil {
			fail(response, http.StatusBadRequest, codes.InvalidArgument, err.Error())
			return
		}
		publish.Topic = strings.TrimSuffix(strings.TrimPrefix(request.URL.Path, "/v1/"), ":publish")
		answer, err := publisher.Publish(request.Context(), publish)
		if err != nil {
			code := http.StatusBadRequest
			if status.Code(err) == codes.NotFound {
				code = http.StatusNotFound
			}
			fail(response, code, status.Code(err), status.Convert(err).Message())
			return
		}
		text, err := protojson.Marshal(answer)
		check(err)
		response.Header().Set("content-type", "application/json")
		response.Write(text)
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ready := filepath.Join(folder, "ready")
	check(os.WriteFile(ready+".part", []byte("http://"+listener.Addr().String()), 0o600))
	check(os.Rename(ready+".part", ready))
	check(http.Serve(listener, nil))
}

func fail(response http.ResponseWriter, statusCode int, code codes.Code, message string) {
	response.WriteHeader(statusCode)
	json.NewEncoder(response).Encode(map[string]any{
		"error": map[string]any{"code": statusCode, "message": message, "status": code.String()},
	})
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
